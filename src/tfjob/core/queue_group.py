"""Pod groups of a queue: releases replaced pods, requeues resized jobs, and ends the group.

The queue keeps its finalizer on a pod until a replacement exists. The replacement of a replica has
the same name, so the operator removes the finalizer from pods of the job that are being deleted. A
pod that the queue stops has not failed. A group cannot change its size, so a scaled job is queued
again as a whole.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import msgspec

from tfjob.core import scale_down
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job
from tfjob.core.observe import Children, completed_replicas, replica_key
from tfjob.core.plan import ChildKind, FinalizerRemoval, Plan, Rule, Update, deletes_of
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.pod_state import has_ended
from tfjob.core.scheduling_spec import QUEUE_FINALIZER, QUEUE_MARK, QueueSpec
from tfjob.core.status import JobStatus
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import Phase, Pod


def is_queued(meta: ObjectMeta) -> bool:
    """Whether a queue holds the pod in a group that the operator created."""
    return QUEUE_FINALIZER in meta.finalizers and QUEUE_MARK in meta.annotations


def is_kept_by_queue(pod: Pod) -> bool:
    """Whether a terminating pod has ended and only the queue's finalizer keeps it."""
    return is_queued(pod.metadata) and pod.metadata.is_terminating and has_ended(pod)


def with_finalizer_removals(plan: Plan, *, job: Job | InvalidJob, children: Children) -> Plan:
    """The plan that also removes the finalizer of queued pods that are being deleted.

    The pods of a job that another controller manages are left to that controller.
    """
    if job.is_external:
        return plan
    metas = [pod.metadata for pod in children.pods]
    leaving = [meta for meta in metas if is_queued(meta) and meta.is_terminating]
    status = job.status if plan.status is None else plan.status
    if leaving and isinstance(job, Job) and _goes_on(job, status, metas):
        completed = _completed(job, status, children.pods)
        leaving = [meta for meta in leaving if meta.uid not in completed]
        if _is_thin(job, status, metas):
            leaving = sorted(leaving, key=lambda meta: meta.name)[1:]
    if not leaving:
        return plan
    removals = [
        FinalizerRemoval(name=meta.name, uid=meta.uid, finalizer=QUEUE_FINALIZER)
        for meta in leaving
    ]
    return msgspec.structs.replace(plan, finalizer_removals=[*plan.finalizer_removals, *removals])


def _goes_on(job: Job, status: JobStatus, metas: Sequence[ObjectMeta]) -> bool:
    """Whether the group will get more pods."""
    is_over = job.is_deleting or job.policy.is_suspended or status.is_finished
    if job.queue is None or is_over or job.total == 1:
        return False
    label, name = job.queue.group_label, job.queue.group_name
    return all(meta.labels.get(label) == name for meta in metas)


def _completed(job: Job, status: JobStatus, pods: Sequence[Pod]) -> AbstractSet[str]:
    """UIDs of pods that are not replaced, because their replicas have completed.

    The queue counts them while they exist, and would wait for replacements if they were gone.
    """
    done = completed_replicas(job, status)
    return {
        pod.metadata.uid
        for pod in pods
        if pod.phase is Phase.SUCCEEDED and replica_key(job, pod.metadata) in done
    }


def _is_thin(job: Job, status: JobStatus, metas: Sequence[ObjectMeta]) -> bool:
    """Whether one pod must stay until the others have been replaced.

    The queue forgets a group without pods, and with it whether and when to admit the group again.
    """
    completed = len(completed_replicas(job, status))
    alive = sum(not meta.is_terminating for meta in metas)
    return alive < job.total - completed - 1


def requeue_if_resized(builder: PlanBuilder, children: Children) -> bool:
    """Delete all pods of a group of another size; returns whether there are any."""
    queue = builder.job.queue
    if queue is None:
        return False
    others = [pod.metadata for pod in children.pods if _is_of_another_group(pod, queue)]
    if not others:
        return False
    present = [meta for meta in others if not meta.is_terminating]
    scale_down.record_removed(builder, children, present)
    builder.deletes.extend(deletes_of(ChildKind.POD, present, rule=Rule.REQUEUED))
    return True


def forget_completed(builder: PlanBuilder) -> None:
    """Let completed replicas run again, because the new group needs a pod of each replica."""
    replicas = {
        kind: msgspec.structs.replace(each, completed=frozenset())
        for kind, each in builder.status.replicas.items()
    }
    builder.set_status(replicas=replicas)


def runs_unqueued(job: Job, pods: Sequence[Pod]) -> bool:
    """Whether pods run outside a group, because the job was assigned to a queue after its start.

    The queue would never admit the rest, because these pods would be missing in the group.
    """
    queue = job.queue
    return queue is not None and any(
        queue.group_label not in pod.metadata.labels
        and not (pod.metadata.is_terminating or has_ended(pod))
        for pod in pods
    )


def end_group(builder: PlanBuilder, pods: Sequence[Pod]) -> None:
    """Annotate one of the remaining pods, so that the queue expects no replacements any more."""
    queue = builder.job.queue
    if queue is None:
        return
    deleted = {each.uid for each in builder.deletes}
    kept = [
        pod.metadata
        for pod in pods
        if is_queued(pod.metadata)
        and not pod.metadata.is_terminating
        and pod.metadata.uid not in deleted
    ]
    key, value = queue.end
    if not kept or any(meta.annotations.get(key) == value for meta in kept):
        return
    first = min(kept, key=lambda meta: meta.name)
    body = {"metadata": {"uid": first.uid, "annotations": {key: value}}}
    builder.updates.append(Update(kind=ChildKind.POD, name=first.name, uid=first.uid, body=body))


def _is_of_another_group(pod: Pod, queue: QueueSpec) -> bool:
    """Whether the queue manages the pod in another group."""
    labels = pod.metadata.labels
    key, value = queue.managed_label
    return labels.get(key) == value and labels.get(queue.group_label) != queue.group_name
