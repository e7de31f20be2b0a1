"""Causes inside the program, with real processes on a local cluster.

Where a small program fails in the same way by itself, it does; else it prints the very words of
TensorFlow 2.21 and ends with its exit code.
"""

import sys
from typing import Any, Final

from tests.support.causes.case import WORKER, Case, Inject, Scene, job_of_containers

_ERRORS: Final = "tensorflow.python.framework.errors_impl"
_TRACE: Final = 'Traceback (most recent call last):\n  File "train.py", line 40, in <module>\n'


def program(code: str) -> dict[str, Any]:
    return {"command": [sys.executable, "-c", code]}


def runs(code: str, *, restart: str = "Never", **fields: Any) -> Inject:
    """A worker runs the program to its end."""

    async def inject(scene: Scene) -> None:
        await scene.with_container(restart=restart, **program(code), **fields)
        await ended(scene)

    return inject


def prints(text: str, *, code: int = 1) -> Inject:
    """A worker prints the text after some steps, and ends with the code."""
    return runs(_printing(text, code=code))


def _printing(text: str, *, code: int) -> str:
    return f"import sys\nprint('step 100')\nsys.stderr.write({text!r} + chr(10))\nsys.exit({code})"


async def ended(scene: Scene, name: str = WORKER) -> None:
    def has_ended(pod: dict[str, object]) -> bool:
        status = pod["status"]
        assert isinstance(status, dict)
        every = [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]
        states = [each[key] for each in every for key in ("state", "lastState") if key in each]
        return any(state.get("terminated", {}).get("exitCode") for state in states)

    await scene.until_pod("has ended", has_ended, name)


async def init_container(scene: Scene) -> None:
    job = job_of_containers("W1", restart="Never", **program("print('never')"))
    fetch = {"name": "fetch", "image": "x", **program("import sys; print('no'); sys.exit(4)")}
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["initContainers"] = [fetch]
    await scene.create(job)
    await ended(scene)


async def command_missing(scene: Scene) -> None:
    await scene.with_container(restart="Never", command=["/nowhere/trian.py"])
    await ended(scene)


async def peer_lost(scene: Scene) -> None:
    """The second of two workers says that it lost the other one."""
    lost = f"{_ERRORS}.UnavailableError: Collective ops is aborted by: The following tasks are"
    text = f"{_TRACE}{lost} unhealthy (stopped sending heartbeats): /job:worker/task:0"
    fails = _printing(text, code=1)
    code = (
        "import json, os, time\n"
        "index = json.loads(os.environ['TF_CONFIG'])['task']['index']\n"
        f"if index:\n    exec({fails!r})\n"
        "time.sleep(3600)"
    )
    await scene.with_container(roles="W2", restart="Never", **program(code))
    await ended(scene, "j-worker-1")


async def stalled(scene: Scene) -> None:
    """Two workers that wait for ever."""
    job = job_of_containers("W2", **program("print('step 1'); import time; time.sleep(3600)"))
    template = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    template["metadata"] = {"annotations": {"tfjob.dev/idle-after-seconds": "3"}}
    await scene.create(job)
    for name in (WORKER, "j-worker-1"):
        await scene.until_pod("is idle", _is_idle, name)


def _is_idle(pod: dict[str, Any]) -> bool:
    return any(each["type"] == "tfjob.dev/Idle" for each in pod["status"].get("conditions", ()))


_NAN: Final = "tensorflow.python.training.basic_session_run_hooks.NanLossDuringTrainingError"
_PORT: Final = """
import socket
first = socket.socket(); first.bind(('127.0.0.1', 0)); first.listen()
socket.socket().bind(first.getsockname())
"""
_HOG: Final = "import time\nblocks = [bytearray(64 << 20) for _ in range(8)]\ntime.sleep(600)"

_CASES: Final = (
    Case(
        18,
        "init container ends non-zero",
        "an init container that exits with 4",
        init_container,
        "InitContainerFailed",
        words=("fetch", "exit code 4"),
        remedy=("init container",),
    ),
    Case(
        19,
        "command not found",
        "a command that does not exist",
        command_missing,
        "ContainerNotStarted",
        words=("trian.py", "exit code 127"),
        remedy=("command",),
    ),
    Case(
        21,
        "out of memory",
        "a process that exceeds its limit of 100Mi",
        runs(_HOG, resources={"limits": {"memory": "100Mi"}}),
        "OutOfMemory",
        words=("limit 100Mi", "exit code 137"),
        remedy=("memory limit",),
    ),
    Case(
        27,
        "peer lost",
        "TensorFlow's words, exit code 1",
        peer_lost,
        "PeerLost",
        replica="worker-1",
        words=("stopped sending heartbeats",),
        remedy=("other replica",),
    ),
    Case(
        28,
        "never connected",
        "TensorFlow's words, then exit code 1",
        prints(
            "I CreateSession still waiting for response from worker: /job:worker/replica:0/task:1"
        ),
        "NeverConnected",
        words=("task:1",),
        remedy=("DNS", "NetworkPolicy", "no_proxy"),
    ),
    Case(
        29,
        "port taken",
        "TensorFlow's words, exit code 1",
        prints(f"{_TRACE}{_ERRORS}.UnknownError: Could not start gRPC server"),
        "PortInUse",
        remedy=("port",),
    ),
    Case(
        29,
        "port taken by itself",
        "a program that binds a port twice",
        runs(_PORT),
        "PortInUse",
        words=("Address already in use",),
    ),
    *(
        Case(
            30,
            title,
            "TensorFlow's words, exit code 1",
            prints(_TRACE + text),
            "InvalidTFConfig",
            remedy=("tfjob plan",),
        )
        for title, text in (
            ("TF_CONFIG: task type", "ValueError: Disallowed task type 'master'. Allowed types"),
            ("TF_CONFIG: port", f"{_ERRORS}.InvalidArgumentError: Could not parse port for h"),
            ("TF_CONFIG: index", "ValueError: The task_id 1 exceeds the maximum id of worker."),
        )
    ),
    Case(
        31,
        "missing module",
        "a program that imports a module that is not there",
        runs("import horovod_of_yore"),
        "ModuleMissing",
        words=("horovod_of_yore",),
        remedy=("Add the module",),
    ),
    Case(
        31,
        "Python traceback",
        "a program that divides by zero",
        runs("print('step 1'); 1 / 0"),
        "PythonError",
        words=("ZeroDivisionError: division by zero",),
        remedy=("last lines",),
    ),
    *(
        Case(
            32,
            title,
            "TensorFlow's words, exit code 1",
            prints(f"{_TRACE}ValueError: {text}"),
            "UnsupportedStrategy",
            remedy=("TF_USE_LEGACY_KERAS=1",),
        )
        for title, text in (
            (
                "Keras 3 with ParameterServerStrategy",
                "You need to pass this dataset to ClusterCoordinator.create_per_worker_dataset.",
            ),
            (
                "Keras 3 with MultiWorkerMirroredStrategy",
                "Attempt to convert a value (PerReplica:{}) with an unsupported type",
            ),
        )
    ),
    *(
        Case(
            33,
            title,
            "TensorFlow's words, exit code 1",
            prints(_TRACE + text),
            "AcceleratorFailed",
            remedy=("CUDA", "NCCL"),
        )
        for title, text in (
            ("CUDA", "RuntimeError: CUDA_ERROR_INVALID_DEVICE: invalid device ordinal"),
            ("NCCL", f"{_ERRORS}.InternalError: NCCL: unhandled system error. Set NCCL_DEBUG"),
        )
    ),
    Case(
        34,
        "no data",
        "a program that opens a file that is not there",
        runs("open('/nowhere/train.tfrecord')"),
        "DataUnavailable",
        words=("/nowhere/train.tfrecord",),
        remedy=("paths",),
    ),
    Case(
        34,
        "no data for TensorFlow",
        "TensorFlow's words, exit code 1",
        prints(f"{_TRACE}{_ERRORS}.NotFoundError: gs://b/x; No such file or directory"),
        "DataUnavailable",
        words=("gs://b/x",),
    ),
    Case(
        34,
        "permission",
        "Python's words, exit code 1",
        prints(f"{_TRACE}PermissionError: [Errno 13] Permission denied: '/data/out'"),
        "DataUnavailable",
        words=("/data/out",),
        remedy=("permissions",),
    ),
    Case(
        34,
        "disk full",
        "a program that writes to a full device",
        runs("with open('/dev/full', 'w') as f: f.write('x')"),
        "DataUnavailable",
        words=("No space left on device",),
        remedy=("free disk space",),
    ),
    Case(
        35,
        "NaN loss",
        "TensorFlow's words when a check finds it, exit code 1",
        prints(f"{_TRACE}{_NAN}: NaN loss during training."),
        "NaNLoss",
        words=("NaN loss during training",),
        remedy=("learning rate",),
    ),
    Case(
        35,
        "NaN in a tensor",
        "TensorFlow's words under check_numerics, exit code 1",
        prints(f"{_TRACE}{_ERRORS}.InvalidArgumentError: loss : Tensor had NaN values"),
        "NaNLoss",
        words=("Tensor had NaN values",),
    ),
    Case(
        36,
        "stalled",
        "two processes that sleep, idle after 3 seconds",
        stalled,
        "Stalled",
        replica="",
        words=("no output and no CPU time since",),
        remedy=("waits for",),
    ),
)
_EXIT_CODES: Final = {18: 4, 19: 127, 21: 137, 36: None}
CASES: Final = tuple(each._replace(exit_code=_EXIT_CODES.get(each.number, 1)) for each in _CASES)
