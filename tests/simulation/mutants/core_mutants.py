"""Bugs in decisions: what is counted, what is judged, what is made and removed."""

from collections.abc import Callable
from typing import Any

import msgspec

from tests.simulation.mutants.patching import Mutant, Patch, always
from tfjob.controller import reconciler, snapshot
from tfjob.core import (
    cleanup,
    group_restart,
    limits,
    observe,
    orderly_end,
    pod_state,
    replicas,
    restart_policy,
    restart_replicas,
    status,
    stuck_pods,
    success,
    suspension,
)
from tfjob.core.child_manifests import ManifestBuilder
from tfjob.core.claim import Claim
from tfjob.core.diagnosis import recovery
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.restart_policy import ReplicaAction
from tfjob.core.status import JobStatus, RecordCause
from tfjob.k8s import time


def _without_count(before: Callable[..., None]) -> Callable[..., None]:
    def store(builder: Any, replica: Any, **fields: Any) -> None:
        fields.pop("restarts", None)
        before(builder, replica, **fields)

    return store


def _made_again(_before: Any) -> Any:
    return lambda _job, instance: instance.pod is None


def _counting_disruptions(before: Callable[..., ReplicaAction]) -> Callable[..., ReplicaAction]:
    def action_for(instance: Any, **facts: Any) -> ReplicaAction:
        found = before(instance, **facts)
        return ReplicaAction.RESTART if found is ReplicaAction.REPLACE else found

    return action_for


def _following_themselves(before: Callable[..., Any]) -> Callable[..., Any]:
    def followers(job: Any, known: Any, seen: Any) -> dict[str, Any]:
        own = {each.incident.key: each.incident for each in seen}
        return {**own, **before(job, known, seen)}

    return followers


def _remaining(more: int) -> Callable[[Any], Any]:
    return lambda before: (
        lambda limit, restarts: before(None if limit is None else max(limit + more, 0), restarts)
    )


def _is_hit(more: int) -> Callable[[Any], Any]:
    return lambda before: (
        lambda limit, restarts, **facts: before(
            None if limit is None else max(limit + more, 0), restarts, **facts
        )
    )


def _but_the_last(before: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    return lambda kind, metas, **rule: before(kind, list(metas)[:-1], **rule)


def _any_worker(_before: Any) -> Any:
    return lambda _criterion, observed: any(each.is_succeeded for each in observed.all_instances())


def _restless(before: Callable[..., Any]) -> Callable[..., Any]:
    def plan(self: PlanBuilder, **fields: Any) -> Any:
        return msgspec.structs.replace(before(self, **fields), requeue_at=self.now)

    return plan


def _without_owner(before: Callable[..., Any]) -> Callable[..., Any]:
    def manifest(self: ManifestBuilder, create: Any) -> Any:
        made = msgspec.json.decode(msgspec.json.encode(before(self, create)))
        made["metadata"].pop("ownerReferences", None)
        return made

    return manifest


def _with_new_name(before: Callable[..., Any]) -> Callable[..., Any]:
    numbers = iter(range(10**9))

    def manifest(self: ManifestBuilder, create: Any) -> Any:
        made = msgspec.json.decode(msgspec.json.encode(before(self, create)))
        if create.kind == "Pod":
            made["metadata"]["name"] += f"-{next(numbers)}"
        return made

    return manifest


def _greedy(before: Callable[..., Claim]) -> Callable[..., Claim]:
    def claim_of(job: Any, meta: Any) -> Claim:
        found = before(job, meta)
        is_of_other = meta.controller_uid not in {None, job.owner.uid}
        return Claim.KEEP if found is Claim.IGNORE and is_of_other else found

    return claim_of


def _any_label(_before: Any) -> Any:
    """Whatever names the job by label is its child, whoever owns it."""

    def owned_by(owner: Any, store: Any) -> list[Any]:
        return list(store.labelled(owner.namespace, owner.name))

    return owned_by


def _all_stuck(before: Callable[..., Any]) -> Callable[..., Any]:
    def step(job: Any, pods: Any, *, lost_nodes: Any, now: Any) -> Any:
        return before(job, pods, lost_nodes={pod.spec.node_name for pod in pods}, now=now)

    return step


def _not_at_resume(_before: Any) -> Any:
    return lambda _builder, _children, seen: seen


def _by_clock(_before: Any) -> Any:
    """Pods that are older than the resumption, by their times, are of the earlier run."""

    def is_of_earlier_run(job: Any, pod: Any) -> bool:
        changed = job.status.condition(status.ConditionType.SUSPENDED)
        made = time.parse(pod.metadata.creation_timestamp)
        if changed is None or made is None or changed.last_transition is None:
            return False
        return bool(made < changed.last_transition)

    return is_of_earlier_run


def _not_ending(before: Callable[..., Any]) -> Callable[..., Any]:
    def decide(*, job: Any, children: Any, now: Any) -> Any:
        stays = msgspec.structs.replace(job, is_deleting=False)
        return before(job=stays, children=children, now=now)

    return decide


def _last_grace(before: Callable[..., bool]) -> Callable[..., bool]:
    """The final deletion by a kubelet is taken for the request: every end came before it."""

    def ended_before_deletion(pod: Any) -> bool:
        if pod.metadata.deletion_grace_period_seconds == 0:
            return pod.terminated("tensorflow") is not None
        return before(pod)

    return ended_before_deletion


MUTANTS = [
    Mutant(
        "causes-excused",
        "a replica that was lost is excused as if it had followed another one",
        [Patch(recovery, "followers", _following_themselves)],
    ),
    Mutant(
        "lost-count",
        "a restart is recorded and not counted",
        [Patch(restart_replicas, "_store", _without_count)],
    ),
    Mutant(
        "counted-again",
        "a failed pod is counted each time that it is seen",
        [
            Patch(restart_policy, "is_recorded", always(False)),
            Patch(restart_replicas, "is_recorded", always(False)),
        ],
    ),
    Mutant(
        "second-success",
        "a replica with a stored success is made again",
        [Patch(replicas, "_is_missing", _made_again)],
    ),
    Mutant(
        "delete-before-status",
        "pods are deleted before what was decided about them is stored",
        [Patch(PlanBuilder, "_writes_status_first", always(False))],
    ),
    Mutant(
        "success-after-eviction",
        "an evicted pod that exits with 0 has succeeded",
        [Patch(pod_state, "is_evicted", always(False))],
    ),
    Mutant(
        "deletion-is-failure",
        "a pod that somebody deleted counts as failed",
        [Patch(pod_state, "is_disrupted", always(False))],
    ),
    Mutant(
        "disruption-counted",
        "the replacement of a disrupted pod counts towards the limit",
        [Patch(restart_replicas, "action_for", _counting_disruptions)],
    ),
    Mutant(
        "one-restart-more",
        "a job may restart once more than its limit says",
        [
            Patch(limits, "remaining_restarts", _remaining(1)),
            Patch(limits, "is_backoff_limit_reached", _is_hit(1)),
        ],
    ),
    Mutant(
        "one-restart-less",
        "a job ends one restart before its limit",
        [
            Patch(limits, "remaining_restarts", _remaining(-1)),
            Patch(limits, "is_backoff_limit_reached", _is_hit(-1)),
        ],
    ),
    Mutant(
        "suspend-leaves-pod",
        "a suspended job keeps one of its pods",
        [Patch(suspension, "deletes_of", _but_the_last)],
    ),
    Mutant(
        "resume-forgotten",
        "a resumed job still says that it is suspended",
        [Patch(suspension, "resume", _not_at_resume)],
    ),
    Mutant(
        "run-by-clock",
        "whether a pod is of an earlier run is told by comparing times of two clocks",
        [Patch(observe, "_is_of_earlier_run", _by_clock)],
    ),
    Mutant(
        "last-grace-misread",
        "the final deletion by a kubelet is taken for the moment at which it was asked for",
        [Patch(pod_state, "_ended_before_deletion", _last_grace)],
    ),
    Mutant(
        "creates-while-deleted",
        "a job that is being deleted still gets pods",
        [Patch(reconciler, "reconcile", _not_ending)],
    ),
    Mutant(
        "any-success",
        "the success of any replica is the success of the job",
        [Patch(success, "is_succeeded", _any_worker)],
    ),
    Mutant(
        "finished-again",
        "a finished job is decided on again",
        [Patch(JobStatus, "is_finished", lambda _before: property(lambda _self: False))],
    ),
    Mutant(
        "rivals",
        "Running and Restarting stand side by side",
        [Patch(status, "_EXCLUSIVE", lambda _before: {})],
    ),
    Mutant(
        "no-clean-up",
        "a finished job leaves its pods running",
        [Patch(cleanup, "deletes_after_completion", always([]))],
    ),
    Mutant(
        "servers-first",
        "parameter servers are ended together with the replicas that use them",
        [
            Patch(
                orderly_end,
                "due",
                lambda _before: lambda _builder, _seen, deletes, **_facts: list(deletes),
            )
        ],
    ),
    Mutant(
        "group-in-pieces",
        "a replica of a group is created while old pods of the group are still there",
        [Patch(group_restart, "waiting", always((frozenset(), [])))],
    ),
    Mutant(
        "group-left-alone",
        "a replica that runs is not restarted with its group",
        [Patch(group_restart, "with_groups", lambda _before: lambda _job, given, **_facts: given)],
        proof="groups",
    ),
    Mutant(
        "group-counted",
        "each replica of a group that is restarted is counted, not only the one that was lost",
        [Patch(restart_policy, "_record_cause", always(RecordCause.FAILED))],
    ),
    Mutant(
        "no-expiry",
        "a finished job outlives its time to live",
        [Patch(cleanup, "expires_at", always(None))],
    ),
    Mutant(
        "restless",
        "every reconcile asks for another one at once",
        [Patch(PlanBuilder, "plan", _restless)],
    ),
    Mutant(
        "no-owner",
        "children are made without an owner",
        [Patch(ManifestBuilder, "manifest", _without_owner)],
    ),
    Mutant(
        "new-name",
        "each pod has a name of its own, so that a late cache makes two",
        [Patch(ManifestBuilder, "manifest", _with_new_name)],
    ),
    Mutant(
        "label-is-proof",
        "whatever carries the job's label is taken for its child",
        [Patch(snapshot, "_owned_by", _any_label), Patch(snapshot, "claim_of", _greedy)],
    ),
    Mutant(
        "force",
        "a pod on its way out is removed by force although its node lives",
        [Patch(stuck_pods, "step", _all_stuck)],
    ),
]
