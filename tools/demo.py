"""The demo: trains with parameter servers on this machine and shows the result.

All files are in one directory, which the next run replaces.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path("build/demo")
NAME = "parameter-servers"
JOB = Path("examples/01-parameter-servers/job.yaml")
BOARD = FOLDER / "node" / "volumes" / "default" / f"{NAME}-logs"
LOG = FOLDER / "chief-0.log"
TFJOB = str(Path(sys.executable).with_name("tfjob"))


def main() -> int:
    """Train, then describe the job; the exit code is that of the training."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    _announce(f"tfjob run {JOB} --data {FOLDER}")
    code = subprocess.run([TFJOB, "run", str(JOB), "--data", str(FOLDER)], check=False).returncode
    if code:
        return code
    with _cluster():
        _announce(f"tfjob describe {NAME}")
        print(_asked("describe", NAME), end="")
        LOG.write_text(_asked("logs", NAME, "--replica", "chief-0"), encoding="utf-8")
    print(f"\naccuracy     {LOG.read_text(encoding='utf-8').split()[-1]}")
    print(f"log          {LOG}")
    print(f"TensorBoard  .venv/bin/tensorboard --logdir {BOARD}")
    print(f"restart      .venv/bin/tfjob local up --data {FOLDER}")
    return 0


def _announce(command: str) -> None:
    print(f"\n$ {command}", flush=True)


def _asked(*words: str) -> str:
    command = [TFJOB, *words, "--kubeconfig", str(FOLDER / "kubeconfig")]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


@contextmanager
def _cluster() -> Iterator[None]:
    """Start the same cluster again from its stored data."""
    command = [TFJOB, "local", "up", "--data", str(FOLDER)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is not None:
                process.stdout.readline()
            yield
        finally:
            process.terminate()
            process.communicate()


if __name__ == "__main__":
    sys.exit(main())
