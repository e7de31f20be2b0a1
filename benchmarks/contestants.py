"""The contestants: the Go training-operator (default and tuned), tfjob, and no operator.

Each runs as its users run it, in its own process, with the flags named here.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import msgspec

from tests.support.controlplane.cluster import ControlPlane
from tests.support.controlplane.processes import Processes
from tests.support.controlplane.toolchain import Toolchain
from tests.support.go_operator import GoOperator
from tests.support.operator_process import OperatorProcess
from tfjob.dialects.kubeflow.v1 import KubeflowV1

GO_TUNED_FLAGS: Final = ("--controller-threads=16", "--kube-api-qps=5000", "--kube-api-burst=10000")


class Operator(Protocol):
    """An operator on one control plane; its calls block."""

    @property
    def pid(self) -> int: ...
    def crd(self) -> dict[str, Any]: ...
    def start(self) -> None: ...
    def kill(self) -> None: ...
    def close(self) -> None: ...


class Contestant(msgspec.Struct, frozen=True):
    name: str
    title: str
    build: Callable[[ControlPlane], Operator]


class _Tfjob:
    def __init__(self, plane: ControlPlane) -> None:
        self._processes = Processes(plane.folder)
        self._operator = OperatorProcess(plane.kubeconfig, name="tfjob", processes=self._processes)

    @property
    def pid(self) -> int:
        return self._operator.pid

    def crd(self) -> dict[str, Any]:
        return KubeflowV1().crd()

    def start(self) -> None:
        self._operator.start()

    def kill(self) -> None:
        self._operator.kill()

    def close(self) -> None:
        self._operator.close()
        self._processes.close()


class _GoOperator(GoOperator):
    """The Go operator, with the objects that its installation creates."""

    def start(self) -> None:
        self.prepare()
        super().start()


class _NoOperator:
    """No operator: the benchmark itself creates the children."""

    pid = os.getpid()

    def crd(self) -> dict[str, Any]:
        return KubeflowV1().crd()

    def start(self) -> None:
        """Nothing to start."""

    def kill(self) -> None:
        """Nothing to kill."""

    def close(self) -> None:
        """Nothing to close."""


def _go_operator(flags: Sequence[str]) -> Callable[[ControlPlane], Operator]:
    return lambda plane: _GoOperator(plane, Toolchain(os.environ), flags=flags)


GO_DEFAULT: Final = "go-default"
GO_TUNED: Final = "go-tuned"
TFJOB: Final = "tfjob"
RAW: Final = "raw"
CONTESTANTS: Final = {
    each.name: each
    for each in (
        Contestant(GO_DEFAULT, "training-operator, defaults", _go_operator(())),
        Contestant(
            GO_TUNED, "training-operator, 16 threads, 5,000 QPS", _go_operator(GO_TUNED_FLAGS)
        ),
        Contestant(TFJOB, "tfjob, defaults", _Tfjob),
        Contestant(RAW, "no operator, 64 writes at a time", lambda _: _NoOperator()),
    )
}
