"""The GPUs of this machine and their assignment to containers.

A GPU belongs to one container at a time, unless it is shared; a container that requests none sees
none.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence

VISIBLE = "CUDA_VISIBLE_DEVICES"
_ALLOW_GROWTH = "TF_FORCE_GPU_ALLOW_GROWTH"
_LISTED = re.compile(r"^GPU (\d+):", re.MULTILINE)
_PROBE_SECONDS = 10


def gpus_of_machine(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The GPUs of this node: those in CUDA_VISIBLE_DEVICES, else all of the machine."""
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
        return ""  # without a working driver there are no GPUs
    return answer.stdout


def allocate(every: Sequence[str], *, taken: Iterable[str], count: int) -> tuple[str, ...] | None:
    """`count` free GPUs; None if there are too few."""
    gone = set(taken)
    free = [gpu for gpu in every if gpu not in gone]
    return tuple(free[:count]) if len(free) >= count else None


def allocate_shared(
    every: Sequence[str], *, taken: Sequence[str], count: int
) -> tuple[str, ...] | None:
    """`count` GPUs, those with the fewest users first; None if the machine has too few."""
    by_users = sorted(every, key=taken.count)
    return tuple(by_users[:count]) if len(every) >= count else None


def cuda_variables(
    every: Sequence[str], own: Sequence[str], *, are_shared: bool = False
) -> dict[str, str]:
    """The variables that select GPUs; empty on a machine without any."""
    if not every:
        return {}
    # Otherwise the first TensorFlow program would take all memory of the GPU.
    growth = {_ALLOW_GROWTH: "true"} if own and are_shared else {}
    return {VISIBLE: ",".join(own) or "-1", **growth}
