"""Looks up known vulnerabilities of locked packages: `python -m tools.audit requirements/*.txt`.

Runs pip-audit, which must be installed for this interpreter. If the vulnerability service cannot be
reached or does not know the packages, a line with the word SKIPPED says so: packages that were not
looked up are never reported as clean.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

_SECONDS: Final = 300
_COMMAND: Final = (
    *(sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes"),
    *("--format", "json", "--progress-spinner", "off", "--timeout", "15", "-r"),
)

Look = Callable[[str], str]
"""Returns the output of pip-audit for one lock file, or raises OSError."""


def look_up(lock: str) -> str:
    try:
        done = subprocess.run(
            [*_COMMAND, lock], capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(f"no answer within {_SECONDS} s") from error
    if not done.stdout.strip():
        last = (done.stderr.strip().splitlines() or ["pip-audit printed nothing"])[-1]
        raise OSError(last)
    return done.stdout


def vulnerabilities(packages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """One line for each vulnerability, with the versions that fix it."""
    for each in packages:
        for fault in each.get("vulns", ()):
            fixed = ", ".join(fault.get("fix_versions", ())) or "no version yet"
            yield f"{each['name']} {each['version']}: {fault['id']}, fixed in {fixed}"


class Audited(NamedTuple):
    """The result for one lock file: its vulnerabilities, and the number of packages found."""

    faults: Sequence[str] = ()
    packages: int = 0
    known: int = 0
    trouble: str = "the service does not know its packages"

    def lines(self, lock: str) -> Iterator[str]:
        if not self.known:
            yield f"audit: SKIPPED {lock}: {self.trouble}"
            return
        yield from (f"audit: {lock}: {each}" for each in self.faults)
        if self.known < self.packages:
            count = f"{self.packages - self.known} of {self.packages} packages"
            yield f"audit: SKIPPED {count} of {lock}: unknown to the vulnerability service"
        elif not self.faults:
            yield f"audit: {lock}: {self.packages} packages, no known vulnerability"


def audited(lock: str, look: Look = look_up) -> Audited:
    try:
        packages = json.loads(look(lock))["dependencies"]
    except (OSError, ValueError, KeyError) as error:
        return Audited(trouble=f"the vulnerability service did not answer: {error}")
    known = sum("skip_reason" not in each for each in packages)
    return Audited(list(vulnerabilities(packages)), len(packages), known)


def main(locks: Sequence[str], look: Look = look_up) -> int:
    """Audit every lock file; return 1 if one has a known vulnerability."""
    results = {lock: audited(lock, look) for lock in locks}
    if not any(each.known for each in results.values()):
        trouble = next(iter(results.values())).trouble
        print(f"audit: SKIPPED, nothing could be looked up: {trouble}")
        return 0
    print("\n".join(line for lock, each in results.items() for line in each.lines(lock)))
    return 1 if any(each.faults for each in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
