"""How fast the local cluster is, beside the limits it has to keep.

Run as `python -m benchmarks.bench_local`; with `--check` a broken limit is a failure. `--busy`
judges CPU time instead of the clock where other work shares the machine.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks import local_api, local_jobs
from benchmarks.figure import HEAD


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when a limit is broken")
    parser.add_argument("--busy", action="store_true", help="judge CPU time, not the clock")
    arguments = parser.parse_args()
    is_kept = True
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory(prefix="tfjob-bench-") as folder:
        for part in (local_api, local_jobs):
            for figure in part.figures(Path(folder)):
                print(figure.row(is_busy=arguments.busy), flush=True)
                is_kept &= figure.is_within(is_busy=arguments.busy)
    return 0 if is_kept or not arguments.check else 1


if __name__ == "__main__":
    sys.exit(main())
