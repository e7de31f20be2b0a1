"""Benchmarks of the local cluster, with their limits.

Run as `python -m benchmarks.bench_local`. With `--check` an exceeded limit is a failure. With
`--busy`, limits apply to CPU time instead of wall-clock time, for a machine with other load.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks import local_api, local_jobs
from benchmarks.figure import HEAD


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a limit is exceeded")
    parser.add_argument("--busy", action="store_true", help="compare CPU time with the limits")
    arguments = parser.parse_args()
    are_limits_met = True
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory(prefix="tfjob-bench-") as folder:
        for part in (local_api, local_jobs):
            for figure in part.figures(Path(folder)):
                print(figure.row(is_busy=arguments.busy), flush=True)
                are_limits_met &= figure.is_within(is_busy=arguments.busy)
    return 0 if are_limits_met or not arguments.check else 1


if __name__ == "__main__":
    sys.exit(main())
