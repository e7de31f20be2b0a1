"""Runs a way: a control plane or two, the scheduler or queue, and the operator beside it.

Each way has control planes of its own. The operator has the permissions that the chart grants with
the same settings, and no others.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from tests.schedulers.ground import LIMIT, Ground, Terms
from tests.schedulers.site import Site
from tests.schedulers.ways import Way
from tests.support.controlplane.cluster import STAGES, ControlPlane
from tests.support.controlplane.ports import Ports
from tests.support.controlplane.processes import Processes
from tests.support.controlplane.toolchain import Toolchain
from tests.support.go_operator import TUNED, GoOperator
from tests.support.operator_identity import identity_on
from tests.support.operator_process import OperatorProcess
from tfjob.dialects.kubeflow.v1 import KubeflowV1

_PRIORITIES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
_PEER_LIMIT: Final = 60.0
"""Seconds after which the Go operator is taken not to do something."""


@contextmanager
def grounds(way: Way, toolchain: Toolchain, *, folder: Path) -> Iterator[Callable[[], Ground]]:
    """Everything that a way needs, running; each case gets a ground of its own."""
    if way.tool:
        toolchain.build(way.tool)
    with ExitStack() as stack:
        site = stack.enter_context(_running(way, toolchain, folder=folder / "jobs"))
        worker: Site | None = None
        if way.worker is not None:
            started = _running(way.worker, toolchain, folder=folder / "pods")
            worker = stack.enter_context(started)
            way.connect(site, worker)

        def set_quota(accelerators: int) -> None:
            for each in (site, worker):
                if each is not None:
                    way.set_quota(each, accelerators)

        def new_ground() -> Ground:
            terms = Terms(
                groups=way.groups,
                labels=way.labels,
                policy=way.policy,
                set_quota=set_quota,
                limit=_PEER_LIMIT if way.is_peer else LIMIT,
                is_told=not way.is_peer and worker is None,
            )
            ground = Ground(site.plane, terms, worker=None if worker is None else worker.plane)
            for each in (site, worker):
                if each is not None:
                    way.prepare(each, ground.namespace)
            return ground

        yield new_ground


@contextmanager
def _running(way: Way, toolchain: Toolchain, *, folder: Path) -> Iterator[Site]:
    folder.mkdir(parents=True, exist_ok=True)
    plane = ControlPlane(
        folder=folder,
        scheduler=True,
        kwok=STAGES,
        feature_gates=way.gates,
        apiserver_flags=way.apiserver_flags,
    )
    with plane, ExitStack() as stack:
        processes, ports = Processes(plane.folder), Ports()
        stack.callback(ports.release)
        stack.callback(processes.close)
        site = Site(plane=plane, processes=processes, ports=ports, toolchain=toolchain)
        for name, value in (("low", 10), ("high", 1000)):
            plane.endpoint.request(
                "POST", _PRIORITIES, {"metadata": {"name": name}, "value": value}
            )
        if way.is_peer:
            peer = GoOperator(plane, toolchain, flags=(*TUNED, *way.flags))
            stack.callback(peer.close)
            plane.install_crds([peer.crd()])
            way.start(site)
            peer.prepare()
            peer.start()
        else:
            plane.install_crds([KubeflowV1().crd()])
            way.start(site)
            operator = OperatorProcess(
                identity_on(plane, *way.needs),
                name="operator",
                processes=processes,
                flags=("--enable-scheme=tfjob", *way.flags),
            )
            operator.start()
        yield site
