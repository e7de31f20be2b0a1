"""Breaks the core in small ways, one at a time, and tells which breaks no test notices.

A break that survives is a line that could be wrong without anybody seeing it. A break that makes
the tests hang or crash is noticed too. This is a measurement for people to read: it refuses
nothing, and it takes too long for every change.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch

NOTICED = frozenset({"killed", "timeout", "segfault"})
UNCOUNTED = frozenset({"skipped"})


def report(results: Iterable[str], *, patterns: Sequence[str] = ("*",)) -> str:
    """The breaks that were not noticed, one a line, and at last the share of those that were.

    A result is a line `name: verdict`; only names that match one of the patterns count.
    """
    verdicts = dict(line.strip().rsplit(": ", 1) for line in results if ": " in line)
    counted = {
        name: verdict
        for name, verdict in verdicts.items()
        if verdict not in UNCOUNTED and any(fnmatch(name, each) for each in patterns)
    }
    unseen = [f"{name}: {each}" for name, each in counted.items() if each not in NOTICED]
    noticed = len(counted) - len(unseen)
    share = f" ({noticed / len(counted):.1%})" if counted else ""
    return "\n".join([*unseen, f"mutate: {noticed} of {len(counted)} breaks noticed{share}"])


def _mutmut(*arguments: str, stdout: int | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mutmut", *arguments],
        check=True,
        text=True,
        stdout=stdout,
        env={**os.environ, "HYPOTHESIS_PROFILE": "ci"},
    )
    return done.stdout or ""


def main(patterns: list[str]) -> int:
    """Break, test and report; without patterns the whole core."""
    try:
        _mutmut("run", *patterns)
    except subprocess.CalledProcessError as error:
        print(f"mutate: the tests could not be run, see above; nothing was measured: {error}")
        return 1
    results = _mutmut("results", "--all", "true", stdout=subprocess.PIPE).splitlines()
    print(report(results, patterns=patterns or ("*",)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
