"""Bugs in carrying out: caches, conflicts, preconditions, order of writes, leadership."""

from collections.abc import Callable
from typing import Any

import msgspec

from tests.simulation.mutants.patching import Mutant, Patch, always
from tfjob.client.errors import Conflict, NotFound
from tfjob.client.informer import Informer
from tfjob.client.store import Store
from tfjob.controller import child_writer, controller_refs, reconciler, snapshot
from tfjob.controller.job_object import JobObject
from tfjob.controller.pacing import SettledState
from tfjob.controller.pod_confirmation import PodConfirmer, _Confirmed
from tfjob.controller.reconciler import Reconciler
from tfjob.controller.status_writer import StatusWriter, WriteResult
from tfjob.controller.worker import Worker
from tfjob.core.claim import Claim
from tfjob.core.plan import ChildKind


async def _sure_of_cache(self: Reconciler, found: Any, plan: Any) -> Any:
    return found, plan


def _only_creates(_before: Any) -> Any:
    return lambda plan: any(create.kind == ChildKind.POD for create in plan.creates)


def _telling_first(before: Callable[..., Any]) -> Callable[..., Any]:
    async def store(self: Reconciler, found: Any, plan: Any, reporter: Any, **facts: Any) -> Any:
        for event in plan.events:
            reporter.event(event)
        return await before(self, found, plan, reporter, **facts)

    return store


async def _delete_by_name(self: Any, delete: Any) -> None:
    kind = self._kinds.of(delete.kind, self._job)
    try:
        await self._api.delete(kind.resource.item(delete.name, self.namespace))
    except (NotFound, Conflict):
        return


def _without_version(before: Callable[..., Any]) -> Callable[..., Any]:
    def body(self: StatusWriter, *args: Any) -> Any:
        made = before(self, *args)
        if made is not None:
            del made["metadata"]["resourceVersion"]
        return made

    return body


async def _stubborn(
    self: StatusWriter, stored: Any, *, job: Any, plan: Any, observed: Any, decide: Any
) -> WriteResult | None:
    """After a conflict the old decision is written over the new object."""
    for _ in range(5):
        body = self._body(stored, job, plan, observed)
        if body is None:
            return WriteResult(job, plan, None)
        try:
            made = await self._put(stored, body)
        except NotFound:
            return None
        except Conflict:
            fresh = await self.read_fresh(stored)
            if fresh is None:
                return None
            stored = fresh
        else:
            return WriteResult(job, plan, made.metadata.resource_version, is_stored=True)
    raise Conflict("again and again")


async def _fresh_by_name(self: StatusWriter, stored: JobObject) -> JobObject | None:
    try:
        return await self._api.get(self.path(stored), decode=JobObject)
    except NotFound:
        return None


async def _no_look(*_args: Any) -> bool:
    return True


def _across_namespaces(_before: Any) -> Any:
    def owned_by(self: Store[Any], _namespace: str, uid: str) -> list[Any]:
        return [each for each in self if each.metadata.controller_uid == uid]

    return owned_by


def _anywhere(before: Callable[..., Claim]) -> Callable[..., Claim]:
    def claim_of(job: Any, meta: Any) -> Claim:
        here = msgspec.structs.replace(meta, namespace=job.namespace)
        return before(job, here)

    return claim_of


def _item_anywhere(before: Callable[..., Any]) -> Callable[..., Any]:
    """Deletes go to the namespace where the object is: here, to every one of them."""

    async def delete(self: Any, delete: Any) -> None:
        for namespace in ("a", "b"):
            self.namespace = namespace
            await before(self, delete)

    return delete


def _deaf(before: Callable[..., Any]) -> Callable[..., Any]:
    """What vanished while nobody looked stays in the cache."""

    def replace(self: Informer[Any], event: Any) -> None:
        for item in event.objects:
            self._store(item)

    return replace


def _ignoring_deletions(_before: Any) -> Any:
    return lambda *_: None


def _giving_up(_before: Any) -> Any:
    def conclude(self: Worker, key: Any, result: Any, started: float) -> None:
        return None

    return conclude


def _trusting_after_a_look(before: Callable[..., Any]) -> Callable[..., Any]:
    async def confirm(self: PodConfirmer, found: Any) -> Any:
        fresh = await before(self, found)
        meta = found.stored.metadata
        self._remember(meta.uid, _Confirmed(meta.resource_version, ""))
        return fresh

    return confirm


def _blind(_before: Any) -> Any:
    return lambda *_: True


MUTANTS = [
    Mutant(
        "stale-cache-trusted",
        "pods are made from the cache, without a look at the job as it is",
        [Patch(Reconciler, "_recheck", lambda _before: _sure_of_cache)],
    ),
    Mutant(
        "stale-pods-trusted",
        "pods are counted from the cache, although another leader may have counted them before",
        [Patch(PodConfirmer, "is_due", always(value=False))],
    ),
    Mutant(
        "one-look-is-enough",
        "a cache is trusted after one look at the server, although it shows older pods",
        [Patch(PodConfirmer, "confirm", _trusting_after_a_look)],
    ),
    Mutant(
        "stale-suspension",
        "pods are deleted because a late cache says that their job is suspended",
        [Patch(reconciler, "_needs_recheck", _only_creates)],
    ),
    Mutant(
        "event-before-status",
        "an end is told before it is stored",
        [Patch(Reconciler, "_write_status", _telling_first)],
    ),
    Mutant(
        "uid-ignored",
        "a pod is deleted by its name alone",
        [Patch(child_writer._ChildWrites, "delete", lambda _before: _delete_by_name)],
    ),
    Mutant(
        "conflict-overwrites",
        "a status is stored over whatever stands there",
        [Patch(StatusWriter, "_body", _without_version)],
    ),
    Mutant(
        "stubborn",
        "after a conflict the old decision is stored over the new object",
        [Patch(StatusWriter, "write", lambda _before: _stubborn)],
    ),
    Mutant(
        "same-name-same-job",
        "a job that was made again under the same name is taken for the old one",
        [Patch(StatusWriter, "read_fresh", lambda _before: _fresh_by_name)],
    ),
    Mutant(
        "adopts-without-a-look",
        "an orphan is adopted for a job that may be on its way out",
        [Patch(controller_refs, "may_adopt", lambda _before: _no_look)],
    ),
    Mutant(
        "no-namespace-check",
        "a reference from another namespace counts",
        [
            Patch(Store, "owned_by", _across_namespaces),
            Patch(snapshot, "claim_of", _anywhere),
            Patch(child_writer._ChildWrites, "delete", _item_anywhere),
        ],
    ),
    Mutant(
        "relist-forgets-nothing",
        "what vanished while a watch was lost stays in the cache",
        [Patch(Informer, "_replace", _deaf)],
    ),
    Mutant(
        "deletions-unseen",
        "a deleted object stays in the cache",
        [Patch(Informer, "_remove", _ignoring_deletions)],
    ),
    Mutant(
        "gives-up",
        "a reconcile that failed is not tried again",
        [Patch(Worker, "_handle_errors", _giving_up)],
    ),
    Mutant(
        "settled-for-ever",
        "a job that has nothing to do is not looked at when its time comes",
        [Patch(SettledState, "covers", _blind)],
    ),
]
