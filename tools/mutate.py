"""Mutation testing of the core: lists the mutants that no test detects.

A surviving mutant is code that could be wrong without a failing test. Mutants that make the tests
hang or crash count as detected. This is a report, not a check: it takes too long for every change.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch

NOTICED = frozenset({"killed", "timeout", "segfault"})
UNCOUNTED = frozenset({"skipped"})


def report(results: Iterable[str], *, patterns: Sequence[str] = ("*",)) -> str:
    """The surviving mutants, one per line, followed by the share of detected ones.

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
    return "\n".join([*unseen, f"mutate: {noticed} of {len(counted)} mutants detected{share}"])


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
    """Run mutation tests and print the report; without patterns for the whole core."""
    try:
        _mutmut("run", *patterns)
    except subprocess.CalledProcessError as error:
        print(f"mutate: the tests could not run, see above: {error}")
        return 1
    results = _mutmut("results", "--all", "true", stdout=subprocess.PIPE).splitlines()
    print(report(results, patterns=patterns or ("*",)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
