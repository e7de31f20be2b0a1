"""Creating missing children: the PodGroup first, then services and pods; surplus is deleted."""

from collections.abc import Set as AbstractSet

from tfjob.core import gang_scheduling, replicas, scale_down
from tfjob.core.messages import MessageTemplate
from tfjob.core.observe import Children, ObservedState
from tfjob.core.plan import EventType
from tfjob.core.plan_builder import PlanBuilder
from tfjob.k8s import time


def sync_pod_group(builder: PlanBuilder, children: Children) -> bool:
    """Create or update the PodGroup; returns whether the pods may be created now."""
    group = builder.job.gang
    if group is None:
        return True
    step = gang_scheduling.step(
        group,
        children.pod_group,
        members=builder.job.replicas,
        priorities=children.priorities,
        owner=builder.job.owner.reference(),
        annotations=builder.job.annotations,
    )
    builder.creates.extend([step.create] if step.create else ())
    builder.updates.extend([step.update] if step.update else ())
    if step.may_create_pods:
        return True
    if gang_scheduling.is_heartbeat_due(builder.status.last_reconcile_time, builder.now):
        builder.set_status(last_reconcile_time=builder.timestamp)
    builder.creates.extend(replicas.missing_companions(builder.job, children))
    builder.requeue_at(time.add(builder.now, gang_scheduling.POLL_INTERVAL))
    return False


def create_children(builder: PlanBuilder, children: Children, observed: ObservedState) -> None:
    scale_down.delete_surplus(builder, children, observed)
    builder.creates.extend(replicas.missing_companions(builder.job, children))
    builder.creates.extend(replicas.missing_services(builder.job, observed))
    workloads, due = replicas.missing_workloads(
        builder.job, observed, status=builder.status, now=builder.now
    )
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
