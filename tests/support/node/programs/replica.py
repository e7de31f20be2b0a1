"""A replica for tests on a real node: it waits, counts its starts, and ends as it is told.

    replica.py [--seconds N] [--exit CODE] [--on-term CODE | --ignore-term]
               [--until FILE] [--count FILE] [--succeed-at N] [--fill MEGABYTES]

It prints TF_CONFIG first. Without --seconds it runs until SIGTERM. With --until it waits for a file
and exits with the code in it. With --count it adds one to the number in the file at each start, and
exits with 0 once that number is --succeed-at. What it fills is held until the end.
"""

import argparse
import os
import signal
import sys
import time
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--exit", type=int, default=0)
    parser.add_argument("--on-term", type=int, default=143)
    parser.add_argument("--ignore-term", action="store_true")
    parser.add_argument("--until", type=Path)
    parser.add_argument("--count", type=Path)
    parser.add_argument("--succeed-at", type=int)
    parser.add_argument("--fill", type=int, default=0)
    wishes = parser.parse_args()
    if wishes.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(wishes.on_term))
    print(f"TF_CONFIG={os.environ.get('TF_CONFIG', '')}", flush=True)
    if wishes.count:
        count = started(wishes.count)
        print(f"start {count}", flush=True)
        if count == wishes.succeed_at:
            return 0
    code: int = code_in(wishes.until) if wishes.until else wishes.exit
    held = [bytearray(1 << 20) for _ in range(wishes.fill)]
    if not wishes.until:
        time.sleep(1e9 if wishes.seconds is None else wishes.seconds)
    del held
    return code


def started(file: Path) -> int:
    """The number of starts so far, this one included."""
    count = 1 + (int(file.read_text()) if file.exists() else 0)
    file.write_text(str(count))
    return count


def code_in(file: Path) -> int:
    """The number in a file, once there is one."""
    while not (file.exists() and file.read_text().endswith("\n")):
        time.sleep(0.1)
    return int(file.read_text())


if __name__ == "__main__":
    sys.exit(main())
