"""The GPUs of this machine, and which container sees which.

Its law: a GPU belongs to one container at a time, and a container that asked for none sees none.
It must not know pods.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence

VISIBLE = "CUDA_VISIBLE_DEVICES"
_LISTED = re.compile(r"^GPU (\d+):", re.MULTILINE)
_PROBE_SECONDS = 10


def gpus_of_machine(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The GPUs this node may hand out: those left visible to it, else all that are there."""
    if VISIBLE in environ:
        named = [word.strip() for word in environ[VISIBLE].split(",")]
        return tuple(word for word in named if word and word != "-1")
    return tuple(_LISTED.findall(_listing()))


def _listing() -> str:
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    try:
        # S603: the program comes from PATH, its argument is ours
        answer = subprocess.run(  # noqa: S603
            [program, "-L"], capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""  # a driver that does not answer gives no GPUs
    return answer.stdout


def allocate(every: Sequence[str], *, taken: Iterable[str], count: int) -> tuple[str, ...] | None:
    """So many GPUs that nobody has; None if there are too few."""
    gone = set(taken)
    free = [gpu for gpu in every if gpu not in gone]
    return tuple(free[:count]) if len(free) >= count else None


def cuda_variables(every: Sequence[str], own: Sequence[str]) -> dict[str, str]:
    """What a container's environment says about GPUs; nothing on a machine without any."""
    if not every:
        return {}
    return {VISIBLE: ",".join(own) or "-1"}
