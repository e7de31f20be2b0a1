"""Looks up known vulnerabilities of what is locked: `python -m tools.audit requirements/*.txt`.

Runs pip-audit, which must be installed beside this interpreter. A service that cannot be reached,
or does not know the packages, is told in a line with the word SKIPPED: what was not looked up is
never called clean.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

_SECONDS: Final = 300
_COMMAND: Final = (
    *(sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes"),
    *("--format", "json", "--progress-spinner", "off", "--timeout", "15", "-r"),
)

Look = Callable[[str], str]
"""What pip-audit prints for one lock; raises OSError where it cannot say."""


def look_up(lock: str) -> str:
    try:
        done = subprocess.run(
            [*_COMMAND, lock], capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(f"no answer within {_SECONDS} s") from error
    if not done.stdout.strip():
        last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise OSError(last)
    return done.stdout


def vulnerabilities(packages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """One line for each vulnerability, with the versions that mend it."""
    for each in packages:
        for fault in each.get("vulns", ()):
            mended = ", ".join(fault.get("fix_versions", ())) or "no version yet"
            yield f"{each['name']} {each['version']}: {fault['id']}, mended in {mended}"


def audited(lock: str, look: Look = look_up) -> tuple[list[str], bool]:
    """What is told about one lock, and whether it has a known vulnerability."""
    try:
        packages = json.loads(look(lock))["dependencies"]
    except (OSError, ValueError, KeyError) as error:
        return [f"audit: SKIPPED {lock}: the vulnerability service gave no answer: {error}"], False
    found = list(vulnerabilities(packages))
    unknown = [each["name"] for each in packages if "skip_reason" in each]
    lines = [f"audit: {lock}: {each}" for each in found]
    if unknown:
        count = f"{len(unknown)} of {len(packages)} packages"
        lines.append(f"audit: SKIPPED {count} of {lock}: unknown to the vulnerability service")
    elif not found:
        lines.append(f"audit: {lock}: {len(packages)} packages, no known vulnerability")
    return lines, bool(found)


def main(locks: Sequence[str], look: Look = look_up) -> int:
    """Audit every lock; 1 if one has a known vulnerability."""
    is_bad = False
    for lock in locks:
        lines, has_fault = audited(lock, look)
        print("\n".join(lines), flush=True)
        is_bad = is_bad or has_fault
    return 1 if is_bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
