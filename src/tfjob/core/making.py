"""The children of one pass: the gang's group first, then what is missing and what is too much."""

from collections.abc import Set as AbstractSet

from tfjob.core import gang, replicas, scaling
from tfjob.core.draft import Draft
from tfjob.core.moments import shifted
from tfjob.core.observe import Children, View
from tfjob.core.plan import EventType
from tfjob.core.wording import Phrase


def is_admitted(draft: Draft, children: Children) -> bool:
    """The gang's PodGroup stands and its scheduler lets the pods come."""
    group = draft.job.gang
    if group is None:
        return True
    step = gang.step(
        group,
        children.pod_group,
        members=draft.job.replicas,
        priorities=children.priorities,
        owner=draft.job.owner.reference(),
        annotations=draft.job.annotations,
    )
    draft.creates.extend([step.create] if step.create else ())
    draft.updates.extend([step.update] if step.update else ())
    if step.may_create_pods:
        return True
    if gang.is_note_due(draft.status.last_reconcile_time, draft.now):
        draft.set_status(last_reconcile_time=draft.stamp)
    draft.creates.extend(replicas.missing_companions(draft.job, children))
    draft.wake(shifted(draft.now, gang.POLL))
    return False


def make(draft: Draft, children: Children, seen: View) -> None:
    scaling.shrink(draft, children, seen)
    draft.creates.extend(replicas.missing_companions(draft.job, children))
    draft.creates.extend(replicas.missing_services(draft.job, seen))
    workloads, due = replicas.missing_workloads(draft.job, seen, status=draft.status, now=draft.now)
    draft.creates.extend(workloads)
    draft.wake(due)
    _warn_of_templates(draft, {create.type for create in workloads})


def _warn_of_templates(draft: Draft, created: AbstractSet[str]) -> None:
    """Once per type: what a template asks for that the job decides otherwise."""
    group = draft.job.gang
    for replica in draft.job.replicas:
        if replica.type not in created:
            continue
        if replica.overrides_template_policy:
            _warn(draft, draft.job.wording.template_policy, replica.type)
        if group is not None and group.is_refused_by(replica.template):
            _warn(draft, draft.job.wording.other_scheduler, replica.type)


def _warn(draft: Draft, phrase: Phrase, kind: str) -> None:
    key = f"template/{draft.job.owner.uid}/{phrase.reason}/{kind}"
    draft.tell(EventType.WARNING, phrase.reason, phrase.say(), key=key)
