"""What the last output of a program says about its end: errors of TensorFlow and of Python.

The output is text of users. It is only searched for known phrases, and never interpreted.
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from tfjob.core.diagnosis.causes import Cause

_MAX_SEARCHED: Final = 4096
"""Bytes of output that a container status can hold."""
_PHRASES: Final[Sequence[tuple[Cause, Sequence[str]]]] = (
    (Cause.PORT_IN_USE, ("Could not start gRPC server", "Address already in use")),
    (
        Cause.INVALID_TF_CONFIG,
        (
            "Disallowed task type",
            "Could not parse port",
            "exceeds the maximum id of",
            "There must be at most one 'chief' job",
        ),
    ),
    (
        Cause.UNSUPPORTED_STRATEGY,
        (
            "pass this dataset to ClusterCoordinator.create_per_worker_dataset",
            "Attempt to convert a value (PerReplica",
        ),
    ),
    (Cause.MODULE_MISSING, ("ModuleNotFoundError", "ImportError:")),
    (
        Cause.ACCELERATOR_FAILED,
        (
            "CUDA_ERROR_",
            "failed call to cuInit",
            "unhandled system error",
            "unhandled cuda error",
            "cudaErrorNoKernelImageForDevice",
            "CUDNN_STATUS_",
        ),
    ),
    (Cause.CONTAINER_NOT_STARTED, ("python: can't open file", "python3: can't open file")),
    (
        Cause.PEER_LOST,
        (
            "stopped sending heartbeats",
            "Collective ops is aborted by",
            "tasks are unhealthy",
            "UnavailableError",
            "Connection reset by peer",
            "Socket closed",
            "CoordinationService",
        ),
    ),
    (
        Cause.NEVER_CONNECTED,
        (
            "CreateSession still waiting for response from worker",
            "failed to connect to all addresses",
            "Barrier timed out",
        ),
    ),
    (
        Cause.DATA_UNAVAILABLE,
        (
            "No space left on device",
            "Disk quota exceeded",
            "Permission denied",
            "PermissionError",
            "FileNotFoundError",
            "NotFoundError",
            "No such file or directory",
        ),
    ),
)
"""In order of precedence: what explains more comes first."""
_TELLING: Final = frozenset({Cause.PORT_IN_USE, Cause.ACCELERATOR_FAILED, Cause.PEER_LOST})
"""Causes whose phrases count anywhere in the output; the others may be warnings without effect."""
_EXCEPTION: Final = re.compile(
    r"^(?:[A-Za-z_]\w{0,80}\.){0,8}[A-Z]\w{0,80}(?:Error|Exception|Interrupt|Exit|Warning)\b.{0,300}"
)


class TrainingError(msgspec.Struct, frozen=True):
    cause: Cause
    line: str = ""
    """The line that tells most."""


def error_in(output: str) -> TrainingError | None:
    """The error that the last output of a program shows; None if it shows no known one.

    The last exception decides. Without one, or if it says nothing, the lines before it do.
    """
    lines = output[-_MAX_SEARCHED:].splitlines()
    places = [place for place, line in enumerate(lines) if _EXCEPTION.match(line)]
    if not places:
        return _phrase_in(lines)
    raised = lines[places[-1] :]
    found = _phrase_in(raised) or _phrase_in(lines, among=_TELLING)
    return found or TrainingError(Cause.PYTHON_ERROR, raised[0].strip())


def _phrase_in(
    lines: Sequence[str], *, among: frozenset[Cause] = frozenset(Cause)
) -> TrainingError | None:
    for cause, phrases in _PHRASES:
        if cause not in among:
            continue
        line = next((each for each in lines if any(map(each.__contains__, phrases))), "")
        if line:
            return TrainingError(cause, line.strip())
    return None
