"""What can happen to a pod of the model cluster: by a kubelet, a node, a scheduler or a user.

Each move takes the cluster and the name of a pod, and changes nothing where it cannot happen. What
a kubelet does follows the same description as in every other fake kubelet.
"""

from collections.abc import Collection
from typing import Any

import msgspec

from tests.support.fake_kubelet import lifecycle, pod_status
from tests.support.fake_kubelet.lifecycle import Action
from tests.support.fake_kubelet.pod_status import Exit, Status
from tests.support.model_cluster import ModelCluster, is_ended
from tfjob.core.job import TRAINING_CONTAINER
from tfjob.k8s import time
from tfjob.k8s.pod import ContainerStatus, Phase, Pod, PodStatus

INIT = "init"
_OWN_REASONS = frozenset({"DeadlineExceeded", "UnexpectedAdmissionError"})


def start(cluster: ModelCluster, name: str) -> None:
    """The pod is scheduled and its training begins, or its silent node answers again."""
    pod = cluster.pods[name]
    if pod.phase is Phase.UNKNOWN:
        cluster.put_pod(_with_status(pod, phase=Phase.RUNNING.value))
    elif pod.phase is Phase.PENDING and not pod.metadata.is_terminating:
        schedule(cluster, name)
        _report(cluster, name, pod_status.running(_shown(cluster, name), _now(cluster)))


def schedule(cluster: ModelCluster, name: str) -> None:
    """The pod gets a node; its images are still being pulled."""
    pod = cluster.pods[name]
    if pod.phase is Phase.PENDING:
        node = pod.spec.node_name or f"node-{pod.metadata.uid}"
        spec = msgspec.structs.replace(pod.spec, node_name=node)
        cluster.put_pod(msgspec.structs.replace(pod, spec=spec))


def leave(cluster: ModelCluster, name: str, *, code: int, has_sidecar: bool = False) -> None:
    """The training container ends, and the kubelet reports what follows.

    Beside a sidecar that goes on, the pod's phase does not change.
    """
    pod = cluster.pods[name]
    if pod.phase is not Phase.RUNNING or pod.terminated(TRAINING_CONTAINER) is not None:
        return
    exit_container(cluster, name, code=code)
    is_restarted = _starts_again(cluster, name, code)
    while not has_sidecar or is_restarted:
        if not _step(cluster, name):
            return


def exit_container(cluster: ModelCluster, name: str, *, code: int) -> None:
    """The training container ends; the pod's phase has not followed yet."""
    pod = cluster.pods[name]
    if pod.phase is not Phase.RUNNING or pod.terminated(TRAINING_CONTAINER) is not None:
        return
    if _starts_again(cluster, name, code):
        cluster.truth.in_place += 1
    elif not pod.metadata.is_terminating:
        truth = cluster.truth
        (truth.own_failures if code else truth.own_successes).add(pod.metadata.uid)
    how = Exit(code=code)
    shown = _shown(cluster, name)
    status = pod_status.exited(shown, _now(cluster), container=TRAINING_CONTAINER, how=how)
    _report(cluster, name, status)


def end_sidecar(cluster: ModelCluster, name: str) -> None:
    """The last container beside an ended training container ends, too; the phase follows."""
    pod = cluster.pods[name]
    if pod.phase is Phase.RUNNING and pod.terminated(TRAINING_CONTAINER) is not None:
        _report(cluster, name, pod_status.settled(_shown(cluster, name), _now(cluster)))


def crash_init(cluster: ModelCluster, name: str) -> None:
    """An init container fails and is started again, before training has begun."""
    pod = cluster.pods[name]
    if pod.phase is not Phase.PENDING or not pod.spec.node_name or pod.metadata.is_terminating:
        return
    if not _starts_again(cluster, name, 1):
        return
    cluster.truth.in_place += 1
    count = sum(each.restart_count for each in pod.status.init_container_statuses)
    again = ContainerStatus(name=INIT, restart_count=count + 1)
    cluster.put_pod(_with_status(pod, init_container_statuses=[again]))


def give_up(cluster: ModelCluster, name: str, *, reason: str) -> None:
    """The pod fails as a whole, under any policy: by its own fault, or because the node says so."""
    pod = cluster.pods[name]
    if is_ended(pod):
        return
    shown = _shown(cluster, name)
    _report(cluster, name, pod_status.rejected(shown, _now(cluster), reason=reason))
    if reason not in _OWN_REASONS:
        cluster.truth.taken.add(pod.metadata.uid)
    elif not pod.metadata.is_terminating:
        cluster.truth.own_failures.add(pod.metadata.uid)


def preempt(cluster: ModelCluster, name: str) -> None:
    """A scheduler preempts the pod: it is marked, then deleted."""
    pod = cluster.pods[name]
    if is_ended(pod):
        return
    cluster.truth.taken.add(pod.metadata.uid)
    shown, reason = _shown(cluster, name), "PreemptionByScheduler"
    _report(cluster, name, pod_status.disrupted(shown, _now(cluster), reason=reason))
    cluster.take(name)


def delete(cluster: ModelCluster, name: str) -> None:
    """A user deletes the pod."""
    if not cluster.pods[name].metadata.is_terminating:
        cluster.truth.taken.add(cluster.pods[name].metadata.uid)
    cluster.take(name)


def vanish(cluster: ModelCluster, name: str) -> None:
    """The pod is removed without any notice."""
    cluster.truth.taken.add(cluster.pods[name].metadata.uid)
    cluster.drop_pod(name)


def hold(cluster: ModelCluster, name: str) -> None:
    """A finalizer keeps the pod once it is deleted, until whoever set it is done."""
    pod = cluster.pods[name]
    cluster.held.add(pod.metadata.uid)
    meta = msgspec.structs.replace(pod.metadata, finalizers=["example.com/archive"])
    cluster.put_pod(msgspec.structs.replace(pod, metadata=meta))


def confirm(cluster: ModelCluster, name: str) -> None:
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


def terminate(cluster: ModelCluster, name: str, *, code: int) -> None:
    """The kubelet does the next step of a deletion; the program ends on SIGTERM with this code."""
    if _is_in_kubelets_hands(cluster, name):
        _step(cluster, name, on_sigterm=Exit(code=code))


def finish(cluster: ModelCluster, name: str) -> None:
    """The kubelet does all that is left of a deletion; a lost node's kubelet never does."""
    if _is_in_kubelets_hands(cluster, name):
        while name in cluster.pods:
            _step(cluster, name)


def fall_silent(cluster: ModelCluster, name: str) -> None:
    """The pod's node does not report."""
    pod = cluster.pods[name]
    if pod.phase is Phase.RUNNING and pod.terminated(TRAINING_CONTAINER) is None:
        cluster.put_pod(_with_status(pod, phase=Phase.UNKNOWN.value))


def lose_node(cluster: ModelCluster, name: str) -> None:
    """The pod's node is gone for good; the cluster requests a deletion that no kubelet confirms."""
    pod = cluster.pods[name]
    if pod.spec.node_name and not is_ended(pod):
        cluster.lost_nodes.add(pod.spec.node_name)
        delete(cluster, name)


def start_all(cluster: ModelCluster) -> None:
    for name in sorted(cluster.pods):
        start(cluster, name)


def finish_all(cluster: ModelCluster, *, but: Collection[str] = ()) -> None:
    for name in sorted(cluster.pods):
        if name not in but:
            finish(cluster, name)


def terminating(cluster: ModelCluster) -> list[str]:
    return [name for name, pod in cluster.pods.items() if pod.metadata.is_terminating]


def _step(cluster: ModelCluster, name: str, on_sigterm: Exit = lifecycle.SIGTERM) -> bool:
    """Do what a kubelet does next; False if there is nothing, or the pod is gone."""
    found = lifecycle.next_step(_shown(cluster, name), _now(cluster), on_sigterm=on_sigterm)
    if found is Action.REMOVE and cluster.pods[name].metadata.deletion_grace_period_seconds:
        # The API server stores the shortened grace period before it removes the pod.
        cluster.end_grace(name)
        return True
    if found is Action.REMOVE:
        cluster.drop_pod(name)
        return False
    if found is None or isinstance(found, Action):
        return False
    _report(cluster, name, found)
    return True


def _is_in_kubelets_hands(cluster: ModelCluster, name: str) -> bool:
    pod = cluster.pods[name]
    return pod.metadata.is_terminating and pod.spec.node_name not in cluster.lost_nodes


def _starts_again(cluster: ModelCluster, name: str, code: int) -> bool:
    shown = _shown(cluster, name)
    return not cluster.pods[name].metadata.is_terminating and pod_status.starts_again(shown, code)


def _shown(cluster: ModelCluster, name: str) -> dict[str, Any]:
    """The pod as an API server shows it: with the spec that the operator does not read."""
    pod = cluster.pods[name]
    shown: dict[str, Any] = msgspec.to_builtins(pod)
    policy = cluster.policies.get(pod.metadata.uid, "Never")
    shown["spec"] |= {"restartPolicy": policy, "containers": [{"name": TRAINING_CONTAINER}]}
    if pod.metadata.deletion_timestamp is None:
        shown["metadata"].pop("deletionTimestamp", None)
    for entry in shown["status"].get("containerStatuses", []):
        for key in ("state", "lastState"):
            entry[key] = {kind: value for kind, value in entry[key].items() if value is not None}
    return shown


def _report(cluster: ModelCluster, name: str, status: Status) -> None:
    changed = msgspec.convert(status, PodStatus)
    cluster.put_pod(msgspec.structs.replace(cluster.pods[name], status=changed))


def _now(cluster: ModelCluster) -> str:
    return time.render(cluster.now)


def _with_status(pod: Pod, **fields: Any) -> Pod:
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, **fields))
