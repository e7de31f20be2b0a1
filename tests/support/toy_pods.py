"""What can happen to a pod of the toy cluster, as a kubelet, a node or a user does it.

Each move takes the cluster and the name of a pod, and changes nothing where it cannot happen.
"""

from collections.abc import Collection
from typing import Any

import msgspec

from tests.support.toy_cluster import ToyCluster, is_ended
from tfjob.core.job import TRAINING_CONTAINER
from tfjob.k8s import time
from tfjob.k8s.pod import (
    ContainerState,
    ContainerStatus,
    Phase,
    Pod,
    PodCondition,
    Running,
    Terminated,
)

INIT = "init"
_OWN_REASONS = frozenset({"DeadlineExceeded", "UnexpectedAdmissionError"})


def start(cluster: ToyCluster, name: str) -> None:
    """It is placed and its training begins; a silent node speaks again."""
    pod = cluster.pods[name]
    if pod.phase is Phase.UNKNOWN:
        cluster.put_pod(_with_status(pod, phase=Phase.RUNNING.value))
    elif pod.phase is Phase.PENDING and not pod.metadata.is_terminating:
        began = Running(started_at=time.render(cluster.now))
        placed = schedule_of(pod)
        cluster.put_pod(
            _with_status(
                _with_training(placed, state=ContainerState(running=began)),
                phase=Phase.RUNNING.value,
                start_time=time.render(cluster.now),
            )
        )


def schedule(cluster: ToyCluster, name: str) -> None:
    """It has a node, and its images are still on their way."""
    pod = cluster.pods[name]
    if pod.phase is Phase.PENDING:
        cluster.put_pod(schedule_of(pod))


def schedule_of(pod: Pod) -> Pod:
    return _with_node(pod, pod.spec.node_name or f"node-{pod.metadata.uid}")


def leave(cluster: ToyCluster, name: str, *, code: int, has_sidecar: bool = False) -> None:
    """The training container ends; the pod's own policy may start it again where it stands."""
    pod = cluster.pods[name]
    if pod.phase is not Phase.RUNNING or pod.terminated(TRAINING_CONTAINER) is not None:
        return
    if _is_started_again(cluster, pod, code):
        cluster.truth.in_place += 1
        cluster.put_pod(_with_training(pod, restart_count=_training(pod).restart_count + 1))
        return
    running = _training(pod).state.running
    ended = Terminated(
        exit_code=code,
        reason="Completed" if code == 0 else "Error",
        started_at=running.started_at if running else None,
        finished_at=time.render(cluster.now),
    )
    gone = _with_training(pod, state=ContainerState(terminated=ended))
    cluster.put_pod(gone if has_sidecar else _with_status(gone, phase=_phase_for(code)))
    if not pod.metadata.is_terminating:
        truth = cluster.truth
        (truth.own_failures if code else truth.own_successes).add(pod.metadata.uid)


def end_sidecar(cluster: ToyCluster, name: str) -> None:
    """The last container beside an ended training container ends too."""
    pod = cluster.pods[name]
    ended = pod.terminated(TRAINING_CONTAINER)
    if pod.phase is Phase.RUNNING and ended is not None:
        cluster.put_pod(_with_status(pod, phase=_phase_for(ended.exit_code)))


def crash_init(cluster: ToyCluster, name: str) -> None:
    """An init container fails and is started again, before training has begun."""
    pod = cluster.pods[name]
    if pod.phase is not Phase.PENDING or not pod.spec.node_name or pod.metadata.is_terminating:
        return
    if not _is_started_again(cluster, pod, 1):
        return
    cluster.truth.in_place += 1
    count = sum(each.restart_count for each in pod.status.init_container_statuses)
    again = ContainerStatus(name=INIT, restart_count=count + 1)
    cluster.put_pod(_with_status(pod, init_container_statuses=[again]))


def give_up(cluster: ToyCluster, name: str, *, reason: str) -> None:
    """The pod fails as a whole, under any policy: by its own fault, or because the node says so."""
    pod = cluster.pods[name]
    if is_ended(pod):
        return
    status = _with_status(pod, phase=Phase.FAILED.value, reason=reason)
    cluster.put_pod(_with_training(status, state=ContainerState()))
    if reason not in _OWN_REASONS:
        cluster.truth.taken.add(pod.metadata.uid)
    elif not pod.metadata.is_terminating:
        cluster.truth.own_failures.add(pod.metadata.uid)


def preempt(cluster: ToyCluster, name: str) -> None:
    """A scheduler takes the pod's place: it is marked, then deleted."""
    pod = cluster.pods[name]
    if is_ended(pod):
        return
    mark = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
    cluster.truth.taken.add(pod.metadata.uid)
    cluster.put_pod(_with_status(pod, conditions=[mark]))
    cluster.take(name)


def delete(cluster: ToyCluster, name: str) -> None:
    """A user deletes the pod."""
    if not cluster.pods[name].metadata.is_terminating:
        cluster.truth.taken.add(cluster.pods[name].metadata.uid)
    cluster.take(name)


def vanish(cluster: ToyCluster, name: str) -> None:
    """The pod is gone without a word."""
    cluster.truth.taken.add(cluster.pods[name].metadata.uid)
    cluster.drop_pod(name)


def hold(cluster: ToyCluster, name: str) -> None:
    """A finalizer keeps the pod once it is deleted, until whoever set it is done."""
    pod = cluster.pods[name]
    cluster.held.add(pod.metadata.uid)
    meta = msgspec.structs.replace(pod.metadata, finalizers=["example.com/archive"])
    cluster.put_pod(msgspec.structs.replace(pod, metadata=meta))


def confirm(cluster: ToyCluster, name: str) -> None:
    """A kubelet that is done with a terminating pod asks for its deletion without any grace, and
    that is seen before the pod is gone."""
    pod = cluster.pods[name]
    if not pod.metadata.is_terminating or not is_ended(pod):
        return
    meta = msgspec.structs.replace(
        pod.metadata,
        deletion_timestamp=time.render(cluster.now),
        deletion_grace_period_seconds=0,
    )
    cluster.put_pod(msgspec.structs.replace(pod, metadata=meta))


def finish(cluster: ToyCluster, name: str) -> None:
    """A terminating pod's kubelet is done with it; a lost node's kubelet never is."""
    pod = cluster.pods[name]
    if pod.metadata.is_terminating and pod.spec.node_name not in cluster.lost_nodes:
        cluster.drop_pod(name)


def fall_silent(cluster: ToyCluster, name: str) -> None:
    """Nobody hears from the pod's node."""
    pod = cluster.pods[name]
    if pod.phase is Phase.RUNNING and pod.terminated(TRAINING_CONTAINER) is None:
        cluster.put_pod(_with_status(pod, phase=Phase.UNKNOWN.value))


def lose_node(cluster: ToyCluster, name: str) -> None:
    """The pod's node is gone for ever; the cluster asks for a deletion that nobody confirms."""
    pod = cluster.pods[name]
    if pod.spec.node_name and not is_ended(pod):
        cluster.lost_nodes.add(pod.spec.node_name)
        delete(cluster, name)


def start_all(cluster: ToyCluster) -> None:
    for name in sorted(cluster.pods):
        start(cluster, name)


def finish_all(cluster: ToyCluster, *, but: Collection[str] = ()) -> None:
    for name in sorted(cluster.pods):
        if name not in but:
            finish(cluster, name)


def terminating(cluster: ToyCluster) -> list[str]:
    return [name for name, pod in cluster.pods.items() if pod.metadata.is_terminating]


def _is_started_again(cluster: ToyCluster, pod: Pod, code: int) -> bool:
    policy = cluster.policies[pod.metadata.uid]
    if pod.metadata.is_terminating:
        return False
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _phase_for(code: int) -> str:
    return Phase.SUCCEEDED.value if code == 0 else Phase.FAILED.value


def _training(pod: Pod) -> ContainerStatus:
    for status in pod.status.container_statuses:
        if status.name == TRAINING_CONTAINER:
            return status
    return ContainerStatus(name=TRAINING_CONTAINER)


def _with_training(pod: Pod, **fields: Any) -> Pod:
    changed = msgspec.structs.replace(_training(pod), **fields)
    return _with_status(pod, container_statuses=[changed])


def _with_status(pod: Pod, **fields: Any) -> Pod:
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, **fields))


def _with_node(pod: Pod, node: str) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))
