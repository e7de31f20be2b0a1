"""Errors in the last output of a program."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.training_errors import error_in

_TRACE = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n'


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        ("...errors_impl.UnavailableError: Graph execution error", Cause.PEER_LOST),
        ("2 tasks are unhealthy (stopped sending heartbeats): worker/1", Cause.PEER_LOST),
        ("RuntimeError: Collective ops is aborted by: UNAVAILABLE", Cause.PEER_LOST),
        ("CreateSession still waiting for response from worker: /job:ps", Cause.NEVER_CONNECTED),
        ("UnknownError: Could not start gRPC server", Cause.PORT_IN_USE),
        ("ValueError: Disallowed task type 'master'", Cause.INVALID_TF_CONFIG),
        ("InvalidArgumentError: Could not parse port", Cause.INVALID_TF_CONFIG),
        (
            "ValueError: The task_id 1 exceeds the maximum id of worker",
            Cause.INVALID_TF_CONFIG,
        ),
        (
            (
                "ValueError: To use this dataset, you need to pass this dataset to"
                " ClusterCoordinator.create_per_worker_dataset"
            ),
            Cause.UNSUPPORTED_STRATEGY,
        ),
        (
            "ValueError: Attempt to convert a value (PerReplica:{}) with an unsupported type",
            Cause.UNSUPPORTED_STRATEGY,
        ),
        (_TRACE + "ModuleNotFoundError: No module named 'horovod'", Cause.MODULE_MISSING),
        (
            "/usr/bin/python3: can't open file '/w/trian.py': [Errno 2] No such file or directory",
            Cause.CONTAINER_NOT_STARTED,
        ),
        ("RuntimeError: CUDA_ERROR_INVALID_DEVICE: invalid device", Cause.ACCELERATOR_FAILED),
        ("InternalError: CUDA_ERROR_OUT_OF_MEMORY: out of memory", Cause.ALLOCATION_FAILED),
        ("ResourceExhaustedError: OOM when allocating tensor", Cause.ALLOCATION_FAILED),
        (_TRACE + "MemoryError", Cause.ALLOCATION_FAILED),
        ("NanLossDuringTrainingError: NaN loss during training.", Cause.NAN_LOSS),
        ("InvalidArgumentError: loss : Tensor had NaN values", Cause.NAN_LOSS),
        (
            "UnavailableError: Error executing an HTTP request: libcurl code 6",
            Cause.DATA_UNAVAILABLE,
        ),
        (_TRACE + "my.package.Odd: so it is", Cause.PYTHON_ERROR),
        ("NCCL WARN unhandled system error", Cause.ACCELERATOR_FAILED),
        (_TRACE + "FileNotFoundError: [Errno 2] No such file: 'x'", Cause.DATA_UNAVAILABLE),
        ("OSError: [Errno 28] No space left on device", Cause.DATA_UNAVAILABLE),
        (_TRACE + "ZeroDivisionError: division by zero", Cause.PYTHON_ERROR),
        (_TRACE + "my.package.OddError: so it is", Cause.PYTHON_ERROR),
    ],
)
def test_an_error_is_known_by_its_text(output: str, cause: Cause) -> None:
    found = error_in(f"step 100\n{output}\n")
    assert found is not None
    assert found.cause is cause
    assert found.line


def test_a_warning_before_the_last_exception_is_no_cause() -> None:
    output = f"matplotlib: Permission denied: /cache\n{_TRACE}ZeroDivisionError: division by zero"
    found = error_in(output)
    assert found is not None
    assert found.cause is Cause.PYTHON_ERROR
    assert found.line == "ZeroDivisionError: division by zero"


_CUDA = "E cuda_driver.cc:1] failed call to cuInit: CUDA_ERROR_NO_DEVICE"


def test_a_missing_gpu_explains_the_end_only_of_a_program_that_asked_for_one() -> None:
    assert error_in(f"{_CUDA}\nstep 1") is None
    found = error_in(f"{_CUDA}\nstep 1", uses_accelerator=True)
    assert found is not None
    assert found.cause is Cause.ACCELERATOR_FAILED


def test_a_missing_gpu_does_not_hide_the_exception_of_a_program_without_one() -> None:
    found = error_in(f"{_CUDA}\n{_TRACE}KeyError: 'loss'")
    assert found is not None
    assert (found.cause, found.line) == (Cause.PYTHON_ERROR, "KeyError: 'loss'")


@pytest.mark.parametrize(
    "benign",
    [
        "cache: No such file or directory",
        "retry 1: Connection reset by peer",
        "StartAbort UNAVAILABLE CoordinationService/Heartbeat",
        "UserWarning: Permission denied: /cache",
        "CreateSession still waiting for response from worker: /job:ps/task:0",
    ],
)
def test_a_warning_early_in_the_output_is_no_cause(benign: str) -> None:
    steps = "\n".join(f"step {number}" for number in range(5))
    assert error_in(f"{benign}\n{steps}") is None
    found = error_in(f"{benign}\n{steps}\n{_TRACE}KeyError: 'loss'")
    assert found is not None
    assert found.cause is Cause.PYTHON_ERROR


@pytest.mark.parametrize("output", ["", "step 1\nstep 2", "all is well"])
def test_ordinary_output_shows_no_error(output: str) -> None:
    assert error_in(output) is None


@given(st.text(max_size=5000))
def test_any_output_is_read(output: str) -> None:
    found = error_in(output)
    assert found is None or found.cause in Cause
