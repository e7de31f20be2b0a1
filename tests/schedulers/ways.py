"""The ways to schedule a gang: programs, how they are started, what the operator is told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import yaml

from tests.schedulers import kueue, multikueue
from tests.schedulers.cases import (
    CASES,
    PEER_CASES,
    PEER_QUEUE_CASES,
    PLUGINS_CASES,
    QUEUE_CASES,
    VOLCANO_CASES,
    Case,
)
from tests.schedulers.site import Site
from tests.support.controlplane.ports import LOOPBACK
from tfjob.manager.permissions import Need

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
    set_quota: Callable[[Site, int], None] = lambda _site, _accelerators: None
    """What a queue is told when nodes come and go."""
    policy: Mapping[str, Any] = field(default_factory=dict)
    """Fields of every job's runPolicy."""
    worker: "Way | None" = None
    """The way of the cluster that has the pods, if it is another one."""
    connect: Callable[[Site, Site], None] = lambda _site, _worker: None
    is_peer: bool = False
    """The Go operator runs instead of ours; what it does not do is told, and is no failure."""
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
_OURS: Final[Mapping[str, Way]] = {
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
        title="Volcano 1.10.0 without its action `enqueue`, which admits only gangs that fit",
        groups=_NAMESPACED.format("scheduling.volcano.sh/v1beta1", "podgroups"),
        flags=("--gang-scheduler-name=volcano",),
        needs=("kubeflow.volcano", Need.PRIORITIES),
        tool="vc-scheduler",
        start=partial(_start_volcano, actions="allocate, preempt, backfill"),
        cases={name: CASES[name] for name in ("all-or-nothing", "node-added", "priority")},
    ),
    "scheduler-plugins": Way(
        title="scheduler-plugins 0.33.5",
        groups=_NAMESPACED.format("scheduling.x-k8s.io/v1alpha1", "podgroups"),
        flags=("--gang-scheduler-name=coscheduling",),
        needs=("kubeflow.schedulerPlugins", Need.PRIORITIES),
        tool="sp-scheduler",
        start=_start_scheduler_plugins,
        cases=PLUGINS_CASES,
        not_offered={"priority": "see priority-by-pod"},
    ),
    "kueue-jobs": Way(
        title="Kueue 0.15.0, TFJob integration",
        groups=_WORKLOADS,
        tool="kueue",
        start=partial(kueue.start, frameworks=("kubeflow.org/tfjob", "pod")),
        prepare=kueue.make_local_queue,
        labels={"kueue.x-k8s.io/queue-name": kueue.QUEUE},
        cases=QUEUE_CASES,
        set_quota=kueue.set_quota,
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
        set_quota=kueue.set_quota,
    ),
}
_GO: Final = "the Go training-operator 1.9.3"
WAYS: Final[Mapping[str, Way]] = {
    **_OURS,
    "multikueue": replace(
        _OURS["kueue-jobs"],
        title="Kueue 0.15.0 on two clusters, MultiKueue by `managedBy`",
        start=partial(kueue.start, frameworks=("kubeflow.org/tfjob",)),
        policy={"managedBy": multikueue.MANAGER},
        worker=_OURS["kueue-jobs"],
        connect=multikueue.connect,
        cases={
            "left-alone": multikueue.left_alone,
            "mirrored-end": multikueue.mirrored_end,
            **{name: case for name, case in QUEUE_CASES.items() if name != "waits-quietly"},
        },
        not_offered={
            "suspended": "Kueue resumes it",
            **dict.fromkeys(("requeued", "priority", "evicted"), "Kueue keeps the quota"),
        },
    ),
    "volcano-go": replace(
        _OURS["volcano"],
        title=f"Volcano 1.10.0 with {_GO}",
        is_peer=True,
        cases=PEER_CASES,
        not_offered={},
    ),
    "scheduler-plugins-go": replace(
        _OURS["scheduler-plugins"],
        title=f"scheduler-plugins 0.33.5 with {_GO}",
        is_peer=True,
        cases=PEER_CASES,
        not_offered={},
    ),
    "kueue-jobs-go": replace(
        _OURS["kueue-jobs"],
        title=f"Kueue 0.15.0, TFJob integration, with {_GO}",
        is_peer=True,
        cases=PEER_QUEUE_CASES,
    ),
}
