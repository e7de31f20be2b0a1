"""Finds errors of TensorFlow and Python in the last output of a program.

The output is untrusted text: it is only searched for known phrases. The last exception decides.
Other lines may be warnings from which the program recovered, so they count only if they contain a
phrase that nothing but a failure prints.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from tfjob.core.diagnosis.causes import Cause

_MAX_SEARCHED: Final = 4096
"""Bytes of output that a container status can hold."""
_LAST: Final = 3
"""How many of the last lines are searched if the output shows no exception."""
_CUDA_INIT: Final = "failed call to cuInit"
"""TensorFlow with CUDA prints this on every machine without a GPU, and continues."""
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
        Cause.NAN_LOSS,
        (
            "NaN loss during training",
            "Model diverged with loss = NaN",
            "Tensor had NaN values",
            "Tensor had Inf and NaN values",
            "Detected Infinity or NaN in output",
        ),
    ),
    (
        Cause.ALLOCATION_FAILED,
        (
            "CUDA_ERROR_OUT_OF_MEMORY",
            "OOM when allocating tensor",
            "ResourceExhaustedError",
            "MemoryError",
        ),
    ),
    (
        Cause.ACCELERATOR_FAILED,
        (
            "CUDA_ERROR_",
            _CUDA_INIT,
            "unhandled system error",
            "unhandled cuda error",
            "cudaErrorNoKernelImageForDevice",
            "CUDNN_STATUS_",
        ),
    ),
    (Cause.CONTAINER_NOT_STARTED, ("python: can't open file", "python3: can't open file")),
    (
        Cause.DATA_UNAVAILABLE,
        (
            "No space left on device",
            "Disk quota exceeded",
            "Error executing an HTTP request",
        ),
    ),
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
            "Permission denied",
            "PermissionError",
            "FileNotFoundError",
            "NotFoundError",
            "No such file or directory",
        ),
    ),
)
"""In order of precedence: the more specific causes come first."""
_NEVER_BENIGN: Final = frozenset(
    {
        "Could not start gRPC server",
        "CUDA_ERROR_",
        "CUDA_ERROR_OUT_OF_MEMORY",
        "CUDNN_STATUS_",
        "cudaErrorNoKernelImageForDevice",
        "unhandled cuda error",
        "stopped sending heartbeats",
        "Collective ops is aborted by",
        "tasks are unhealthy",
    }
)
"""Phrases that count anywhere in the output."""
_TRACEBACK: Final = "Traceback (most recent call last):"
_EXCEPTION: Final = re.compile(
    r"^(?:[A-Za-z_]\w{0,80}\.){0,8}[A-Z]\w{0,80}(?:Error|Exception|Interrupt|Exit)\b.{0,300}"
)


class TrainingError(msgspec.Struct, frozen=True):
    cause: Cause
    line: str = ""
    """The line that shows the cause."""


def error_in(output: str, *, uses_accelerator: bool = False) -> TrainingError | None:
    """The error that a program printed last; None if no known one is found."""
    shown = output[-_MAX_SEARCHED:].splitlines()
    lines = shown if uses_accelerator else [each for each in shown if _CUDA_INIT not in each]
    places = list(_exceptions(lines))
    everywhere = _phrase_in(lines, is_certain=True)
    if not places:
        last = [each for each in lines if each.strip()][-_LAST:]
        hint = _phrase_in([each for each in lines if _CUDA_INIT in each])
        return everywhere or _phrase_in(last) or hint
    raised = lines[places[-1] :]
    found = _phrase_in(raised) or everywhere
    return found or TrainingError(Cause.PYTHON_ERROR, raised[0].strip())


def _exceptions(lines: Sequence[str]) -> Iterator[int]:
    """The indexes of lines with an exception, known by its name or by the traceback before it."""
    is_traced = False
    for place, line in enumerate(lines):
        if line.startswith(_TRACEBACK):
            is_traced = True
        elif line[:1].strip():
            if is_traced or _EXCEPTION.match(line):
                yield place
            is_traced = False


def _phrase_in(lines: Sequence[str], *, is_certain: bool = False) -> TrainingError | None:
    for cause, phrases in _PHRASES:
        chosen = [each for each in phrases if each in _NEVER_BENIGN] if is_certain else phrases
        line = next((each for each in lines if any(map(each.__contains__, chosen))), "")
        if line:
            return TrainingError(cause, line.strip())
    return None
