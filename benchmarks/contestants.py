"""Who is measured: the Go training-operator with its defaults and tuned, tfjob, and bare creates.

Law: each runs as its users run it, as a process of its own with the flags that are named here.
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

PEER_TUNED: Final = ("--controller-threads=16", "--kube-api-qps=5000", "--kube-api-burst=10000")


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


class _Ours:
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


class _Peer(GoOperator):
    """The peer, with what its installation makes beside it."""

    def start(self) -> None:
        self.prepare()
        super().start()


class _Nobody:
    """No operator at all: the harness itself makes the children."""

    pid = os.getpid()

    def crd(self) -> dict[str, Any]:
        return KubeflowV1().crd()

    def start(self) -> None:
        """Nothing has to run."""

    def kill(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Nothing is left."""


def _peer(flags: Sequence[str]) -> Callable[[ControlPlane], Operator]:
    return lambda plane: _Peer(plane, Toolchain(os.environ), flags=flags)


PEER_DEFAULT: Final = "peer-default"
PEER: Final = "peer-tuned"
OURS: Final = "tfjob"
RAW: Final = "raw"
CONTESTANTS: Final = {
    each.name: each
    for each in (
        Contestant(PEER_DEFAULT, "training-operator, defaults", _peer(())),
        Contestant(PEER, "training-operator, 16 threads, 5,000 QPS", _peer(PEER_TUNED)),
        Contestant(OURS, "tfjob, defaults", _Ours),
        Contestant(RAW, "bare creates, 64 at a time", lambda _: _Nobody()),
    )
}
