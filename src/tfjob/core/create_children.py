"""Creates missing children, the PodGroup first, then services and pods; deletes surplus ones."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import msgspec

from tfjob.core import gang_retry, pod_group, queue_group, replicas, scale_down
from tfjob.core.gang_members import Members
from tfjob.core.job import Job
from tfjob.core.messages import MessageTemplate
from tfjob.core.observe import Children, ObservedState, completed_replicas, replica_key
from tfjob.core.plan import ChildKind, EventType, Rule, deletes_of
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.pod_group import GangStep
from tfjob.core.status import JobStatus
from tfjob.k8s.pod import Pod


def sync_pod_group(builder: PlanBuilder, children: Children) -> bool:
    """Create, update or delete the PodGroup; returns whether the pods may be created now."""
    gang = builder.job.gang
    if gang is None:
        return True
    step = gang_step(builder, children)
    builder.creates.extend([step.create] if step.create else ())
    builder.updates.extend([step.update] if step.update else ())
    if step.is_made_anew or step.removed:
        _make_anew(builder, children, step)
    elif gang.retries_when_touched and children.pod_group is not None and step.update is None:
        retry = gang_retry.retry(
            children.pod_group, children.pods, node_freed_at=children.node_freed_at, now=builder.now
        )
        builder.updates.extend([retry.update] if retry.update else ())
        builder.requeue_at(retry.requeue_at)
    if not step.may_create_pods:
        # Written once: the PodGroup is watched, so that waiting needs no further write.
        since = builder.status.last_reconcile_time or builder.timestamp
        builder.set_status(last_reconcile_time=since)
        builder.creates.extend(replicas.missing_companions(builder.job, children))
    return step.may_create_pods


def gang_step(builder: PlanBuilder, children: Children) -> GangStep:
    """What to do about the job's PodGroup, if it has one."""
    job = builder.job
    if job.gang is None:
        return GangStep()
    completed = _pods_of_completed(job, builder.status, children.pods)
    return pod_group.step(
        job.gang,
        children.pod_group,
        members=Members(types=job.replicas, pods=children.pods, completed=completed),
        priorities=children.priorities,
        owner=job.owner.reference(),
        annotations=job.annotations,
    )


def _pods_of_completed(job: Job, status: JobStatus, pods: Sequence[Pod]) -> Sequence[Sequence[Pod]]:
    """The remaining pods, if any, of each replica that has succeeded and was not scaled down."""
    remaining: dict[tuple[str, int] | None, list[Pod]] = {
        key: [] for key in completed_replicas(job, status)
    }
    if not remaining:
        return ()
    for pod in pods:
        remaining.get(replica_key(job, pod.metadata), []).append(pod)
    return list(remaining.values())


def _make_anew(builder: PlanBuilder, children: Children, step: GangStep) -> None:
    """Delete a PodGroup of the wrong size, and its pods that have no node yet."""
    rule = Rule.GANG_RESIZED
    if step.is_made_anew:
        builder.deletes.extend(pod_group.delete_group(children.pod_group, rule=rule))
    scale_down.record_removed(builder, children, step.removed)
    builder.deletes.extend(deletes_of(ChildKind.POD, step.removed, rule=rule))


def create_children(builder: PlanBuilder, children: Children, observed: ObservedState) -> None:
    scale_down.delete_surplus(builder, children, observed)
    builder.creates.extend(replicas.missing_companions(builder.job, children))
    builder.creates.extend(replicas.missing_services(builder.job, observed))
    workloads, due = replicas.missing_workloads(
        builder.job, observed, status=builder.status, now=builder.now
    )
    if workloads and gang_step(builder, children).is_outside:
        workloads = [msgspec.structs.replace(each, is_outside=True) for each in workloads]
    if workloads and queue_group.runs_unqueued(builder.job, children.pods):
        workloads = [msgspec.structs.replace(each, is_unqueued=True) for each in workloads]
    builder.creates.extend(workloads)
    builder.requeue_at(due)
    _warn_of_templates(builder, {create.type for create in workloads})


def _warn_of_templates(builder: PlanBuilder, created: AbstractSet[str]) -> None:
    """Warn, once per type, about template fields that the job overrides or that break the gang."""
    group = builder.job.gang
    for replica in builder.job.replicas:
        if replica.type not in created:
            continue
        if replica.overrides_template_policy:
            _warn(builder, builder.job.messages.template_policy, replica.type)
        if group is not None and group.uses_other_scheduler(replica.template):
            _warn(builder, builder.job.messages.other_scheduler, replica.type)


def _warn(builder: PlanBuilder, template: MessageTemplate, kind: str) -> None:
    key = f"template/{builder.job.owner.uid}/{template.reason}/{kind}"
    builder.record_event(EventType.WARNING, template.reason, template.render(), key=key)
