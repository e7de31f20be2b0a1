"""The ways to schedule a gang: the programs, how they are started, and the operator beside them.

Each way has a control plane of its own. The operator has the permissions that the chart grants with
the same settings, and no others.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import yaml

from tests.schedulers import kueue
from tests.schedulers.cases import CASES, QUEUE_CASES, VOLCANO_CASES, Case
from tests.schedulers.ground import Ground
from tests.schedulers.site import Site
from tests.support.controlplane.cluster import STAGES, ControlPlane
from tests.support.controlplane.ports import LOOPBACK, Ports
from tests.support.controlplane.processes import Processes
from tests.support.controlplane.toolchain import Toolchain
from tests.support.operator_identity import identity_on
from tests.support.operator_process import OperatorProcess
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.manager.permissions import Need

_PRIORITIES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
_VOLCANO: Final = """
actions: "{actions}"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
"""


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way: what runs beside kube-scheduler, and what the operator is told."""

    title: str
    groups: str
    """The path of what the scheduler or the queue keeps for each job."""
    flags: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    tool: str = ""
    start: Callable[[Site], None] = lambda _site: None
    gates: tuple[str, ...] = ()
    apiserver_flags: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[Site, str], None] = lambda _site, _namespace: None
    """What each namespace needs before a job can be submitted there."""
    cases: Mapping[str, Case] = field(default_factory=lambda: CASES)
    not_offered: Mapping[str, str] = field(default_factory=dict)
    """Cases that the scheduler does not offer, and why."""


def _start_volcano(site: Site, *, actions: str) -> None:
    site.plane.install_crds(site.crds("vc-scheduler"))
    conf = site.write("volcano.conf", _VOLCANO.format(actions=actions))
    site.processes.start(
        "vc-scheduler",
        [
            site.toolchain.build("vc-scheduler"),
            f"--kubeconfig={site.plane.kubeconfig}",
            f"--scheduler-conf={conf}",
            "--leader-elect=false",
            f"--listen-address={LOOPBACK}:{site.ports.take()}",
            f"--healthz-address={LOOPBACK}:{site.ports.take()}",
            "--schedule-period=1s",
            "--cache-dumper=false",
        ],
    )
    queue = "/apis/scheduling.volcano.sh/v1beta1/queues"
    site.wait("default queue", lambda: bool(site.plane.endpoint.request("GET", queue)["items"]))


def _start_scheduler_plugins(site: Site) -> None:
    site.plane.install_crds(site.crds("sp-scheduler"))
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(site.plane.kubeconfig), "qps": 200, "burst": 400},
        "profiles": [
            {
                "schedulerName": "coscheduling",
                "plugins": {
                    "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
                    "queueSort": {
                        "enabled": [{"name": "Coscheduling"}],
                        "disabled": [{"name": "*"}],
                    },
                },
                "pluginConfig": [
                    {"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}}
                ],
            }
        ],
    }
    path = site.write("scheduler-plugins.yaml", yaml.safe_dump(config))
    site.processes.start(
        "sp-scheduler",
        [
            site.toolchain.build("sp-scheduler"),
            f"--config={path}",
            f"--bind-address={LOOPBACK}",
            f"--secure-port={site.ports.take()}",
        ],
    )


_NAMESPACED: Final = "/apis/{}/namespaces/{{namespace}}/{}"
_WORKLOADS: Final = _NAMESPACED.format("kueue.x-k8s.io/v1beta2", "workloads")
WAYS: Final[Mapping[str, Way]] = {
    "native": Way(
        title="kube-scheduler 1.36.3",
        groups=_NAMESPACED.format("scheduling.k8s.io/v1alpha2", "podgroups"),
        flags=("--gang-scheduler-name=kubernetes",),
        needs=("kubeflow.kubernetes",),
        gates=("GenericWorkload=true", "GangScheduling=true"),
        apiserver_flags=("--runtime-config=scheduling.k8s.io/v1alpha2=true",),
    ),
    "volcano": Way(
        title="Volcano 1.10.0",
        groups=_NAMESPACED.format("scheduling.volcano.sh/v1beta1", "podgroups"),
        flags=("--gang-scheduler-name=volcano",),
        needs=("kubeflow.volcano", Need.PRIORITIES),
        tool="vc-scheduler",
        start=partial(_start_volcano, actions="enqueue, allocate, preempt, backfill"),
        cases=VOLCANO_CASES,
        not_offered={"priority": "see volcano-preempt"},
    ),
    "volcano-preempt": Way(
        title="Volcano 1.10.0 without its action `enqueue`, which admits no gang without free room",
        groups=_NAMESPACED.format("scheduling.volcano.sh/v1beta1", "podgroups"),
        flags=("--gang-scheduler-name=volcano",),
        needs=("kubeflow.volcano", Need.PRIORITIES),
        tool="vc-scheduler",
        start=partial(_start_volcano, actions="allocate, preempt, backfill"),
        cases={name: CASES[name] for name in ("all-or-nothing", "room-comes", "priority")},
    ),
    "scheduler-plugins": Way(
        title="scheduler-plugins 0.33.5",
        groups=_NAMESPACED.format("scheduling.x-k8s.io/v1alpha1", "podgroups"),
        flags=("--gang-scheduler-name=coscheduling",),
        needs=("kubeflow.schedulerPlugins", Need.PRIORITIES),
        tool="sp-scheduler",
        start=_start_scheduler_plugins,
        not_offered={"priority": "not offered"},
    ),
    "kueue-jobs": Way(
        title="Kueue 0.15.0, TFJob integration",
        groups=_WORKLOADS,
        tool="kueue",
        start=partial(kueue.start, frameworks=("kubeflow.org/tfjob", "pod")),
        prepare=kueue.make_local_queue,
        labels={"kueue.x-k8s.io/queue-name": kueue.QUEUE},
        cases=QUEUE_CASES,
        not_offered={"suspended": "Kueue resumes it"},
    ),
    "kueue-pods": Way(
        title="Kueue 0.15.0, pod groups",
        groups=_WORKLOADS,
        flags=("--kueue-pod-groups",),
        tool="kueue",
        start=partial(kueue.start, frameworks=("pod",)),
        prepare=kueue.make_local_queue,
        labels={"kueue.x-k8s.io/queue-name": kueue.QUEUE},
        cases=QUEUE_CASES,
    ),
}


@contextmanager
def grounds(way: Way, toolchain: Toolchain, *, folder: Path) -> Iterator[Callable[[], Ground]]:
    """Everything that a way needs, running; each case gets a ground of its own."""
    if way.tool:
        toolchain.build(way.tool)
    folder.mkdir(parents=True, exist_ok=True)
    plane = ControlPlane(
        folder=folder,
        scheduler=True,
        kwok=STAGES,
        feature_gates=way.gates,
        apiserver_flags=way.apiserver_flags,
    )
    with plane:
        processes, ports = Processes(plane.folder), Ports()
        try:
            plane.install_crds([KubeflowV1().crd()])
            for name, value in (("low", 10), ("high", 1000)):
                body = {"metadata": {"name": name}, "value": value}
                plane.endpoint.request("POST", _PRIORITIES, body)
            site = Site(plane=plane, processes=processes, ports=ports, toolchain=toolchain)
            way.start(site)
            operator = OperatorProcess(
                identity_on(plane, *way.needs),
                name="operator",
                processes=processes,
                flags=("--enable-scheme=tfjob", *way.flags),
            )
            operator.start()

            def new_ground() -> Ground:
                ground = Ground(plane, labels=way.labels, groups=way.groups)
                way.prepare(site, ground.namespace)
                return ground

            yield new_ground
        finally:
            processes.close()
            ports.release()
