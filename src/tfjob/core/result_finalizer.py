"""The result finalizer: keeps a decisive pod until its result is stored in the status.

Without it, a pod that ends and is deleted while no operator runs leaves no trace. The finalizer is
removed as soon as the result is stored or no longer matters, so that no deletion waits for long.
"""

from collections.abc import Sequence

import msgspec

from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import FINALIZER, Job
from tfjob.core.observe import Children, ReplicaInstance, observe
from tfjob.core.plan import FinalizerRemoval, Plan
from tfjob.core.status import ConditionType, JobStatus
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import Phase, Pod


def is_held(meta: ObjectMeta) -> bool:
    return FINALIZER in meta.finalizers


def with_finalizer_removals(plan: Plan, *, job: Job | InvalidJob, children: Children) -> Plan:
    """The plan that also removes our finalizer, once the status of a valid job is stored."""
    held = [pod for pod in children.pods if is_held(pod.metadata)]
    if not held:
        return plan
    status = job.status if plan.status is None else plan.status
    awaited = _awaited(job, children, status=status) if isinstance(job, Job) else frozenset()
    removals = [_removal(pod) for pod in held if pod.metadata.uid not in awaited]
    if not removals:
        return plan
    # An invalid job must not wait: the server may refuse its status, and its results do not matter.
    waits = plan.status is not None and isinstance(job, Job)
    first = plan.writes_status_first or waits
    return msgspec.structs.replace(plan, finalizer_removals=removals, writes_status_first=first)


def _removal(pod: Pod) -> FinalizerRemoval:
    return FinalizerRemoval(name=pod.metadata.name, uid=pod.metadata.uid, finalizer=FINALIZER)


def pods_without_result(job: Job, pods: Sequence[Pod]) -> list[Pod]:
    """The pods of replicas whose result is not stored yet and still matters."""
    found = _without_result(job, Children(pods=pods), status=job.status)
    return [each.pod for each in found if each.pod is not None]


def _awaited(job: Job, children: Children, *, status: JobStatus) -> frozenset[str]:
    """UIDs of the decisive pods whose result is not stored yet."""
    if not job.semantics.holds_decisive_pods:
        return frozenset()
    criterion = job.semantics.success_criterion
    return frozenset(
        each.pod.metadata.uid
        for each in _without_result(job, children, status=status)
        if each.pod is not None and criterion.includes(each.replica.type, each.index)
    )


def _without_result(job: Job, children: Children, *, status: JobStatus) -> list[ReplicaInstance]:
    if job.is_ignored or status.is_finished or status.is_true(ConditionType.SUSPENDED):
        return []
    observed = observe(msgspec.structs.replace(job, status=status), children)
    return [
        each
        for each in observed.all_instances()
        if each.pod is not None and _is_awaited(each, each.pod, status=status)
    ]


def _is_awaited(instance: ReplicaInstance, pod: Pod, *, status: JobStatus) -> bool:
    """Whether the result of the instance's pod is not stored yet.

    A running pod that is being deleted has its result already: however it ends, it has not
    succeeded.
    """
    if instance.is_obsolete or instance.is_completed:
        return False
    last = status.of(instance.replica.type).record_of(instance.index)
    if last is not None and last.uid == pod.metadata.uid and last.is_restart:
        return bool(last.incident) and _may_still_succeed(instance, pod)
    return instance.is_succeeded or not instance.is_terminating


def _may_still_succeed(instance: ReplicaInstance, pod: Pod) -> bool:
    """Whether a pod that is restarted with its group may still succeed, or has succeeded.

    A running pod may succeed until it is stopped, unless its grace period is 0: then it was
    force-deleted, and its end is never reported.
    """
    if instance.phase is Phase.RUNNING:
        return pod.metadata.deletion_grace_period_seconds != 0
    return instance.is_succeeded
