"""The result finalizer: keeps a decisive pod until the status holds how it ended.

Without it, a pod that ends and is deleted while no operator runs leaves no trace. It is removed as
soon as the end of the pod is stored or no longer matters, so that no deletion waits for long.
"""

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
    # The server may refuse the status of an invalid job, whose results do not matter any more.
    waits = plan.status is not None and isinstance(job, Job)
    first = plan.writes_status_first or waits
    return msgspec.structs.replace(plan, finalizer_removals=removals, writes_status_first=first)


def _removal(pod: Pod) -> FinalizerRemoval:
    return FinalizerRemoval(name=pod.metadata.name, uid=pod.metadata.uid, finalizer=FINALIZER)


def _awaited(job: Job, children: Children, *, status: JobStatus) -> frozenset[str]:
    """UIDs of the pods whose end is to be stored and is not yet."""
    is_over = status.is_finished or status.is_true(ConditionType.SUSPENDED)
    if job.is_ignored or is_over or not job.semantics.holds_decisive_pods:
        return frozenset()
    observed = observe(msgspec.structs.replace(job, status=status), children)
    criterion = job.semantics.success_criterion
    return frozenset(
        each.pod.metadata.uid
        for each in observed.all_instances()
        if each.pod is not None
        and criterion.includes(each.replica.type, each.index)
        and _is_awaited(each, each.pod, status=status)
    )


def _is_awaited(instance: ReplicaInstance, pod: Pod, *, status: JobStatus) -> bool:
    """Whether the end of the instance's pod is still to be stored.

    That a running pod is being deleted is known already: however it ends, it is no success.
    """
    if instance.is_obsolete or instance.is_completed:
        return False
    last = status.of(instance.replica.type).record_of(instance.index)
    if last is not None and last.uid == pod.metadata.uid and last.is_restart:
        return bool(last.incident) and _may_still_succeed(instance, pod)
    return instance.is_succeeded or not instance.is_terminating


def _may_still_succeed(instance: ReplicaInstance, pod: Pod) -> bool:
    """Whether a pod that is restarted with its group has not ended, or has ended before that.

    Until its deletion is carried out it may still succeed. A pod that runs with a grace period of 0
    was deleted by force, and nobody reports its end.
    """
    if instance.phase is Phase.RUNNING:
        return pod.metadata.deletion_grace_period_seconds != 0
    return instance.is_succeeded
