"""Checks the operator of a release, for `helm test`.

The CRDs are installed, the operator's service account can list jobs, and the operator answers at
the address of its metrics, if one is given. All other words are those of `tfjob get`.
"""

import argparse
import subprocess
import sys
import urllib.request


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--metrics", metavar="ADDRESS")
    options, words = parser.parse_known_args()
    listed = subprocess.run([sys.executable, "-m", "tfjob.cli.main", "get", *words], check=False)
    if listed.returncode != 0 or not options.metrics:
        return listed.returncode
    page = urllib.request.urlopen(options.metrics, timeout=10).read().decode()
    print(*(line for line in page.splitlines() if line.startswith("t")), sep="\n")
    return 0 if "tf_operator_is_leader" in page else 1


if __name__ == "__main__":
    sys.exit(main())
