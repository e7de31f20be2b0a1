"""The first process of the node's process namespace: it collects the ended children of others.

Containers outlive the processes that started them and are handed to the first process. When the
cluster's program ends, so does this one, and the kernel then ends everything else in the namespace.
"""

import os
import subprocess
import sys


def main() -> int:
    """Run the cluster and reap every orphan until it ends; the result is its exit code."""
    cluster = subprocess.Popen([sys.executable, "-m", "tests.support.node.inside"])
    while True:
        pid, status = os.wait()
        if pid == cluster.pid:
            cluster.returncode = os.waitstatus_to_exitcode(status)
            return cluster.returncode


if __name__ == "__main__":
    sys.exit(main())
