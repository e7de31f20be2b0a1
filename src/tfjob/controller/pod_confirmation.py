"""Confirms pods with the API server before a decision about them is stored.

A status is written on condition that the job has not changed, but the cached pods may be older than
that version of the job. Another leader may have counted a pod since, deleted it, and dropped its
record; a decision from the stale cache would count the pod again. So the pods are listed from the
server, unless this process knows that its cache is as new as the job.

The known versions only save requests. The last list that was decided on also tells which ends of
pods were part of an earlier decision; without it, they are decided on once more.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from tfjob.client.pager import PageSource, Scope, list_all
from tfjob.client.resource import PODS
from tfjob.client.watch_codec import LineDecoder, Unreadable, key_of
from tfjob.controller.job_object import JobObject
from tfjob.controller.snapshot import Snapshot
from tfjob.core.claim import Claim, claim_of
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job, Workload
from tfjob.dialects.base import Dialect
from tfjob.k8s.pod import Pod
from tfjob.k8s.resource_version import reaches

_log: Final = logging.getLogger(__name__)
_MAX_JOBS: Final = 10_000


class _Confirmed(NamedTuple):
    """A version of a job, and the list that its pods were decided on; empty if there was none.

    Pods that have reached the version of the list are at least as new as the job.
    """

    version: str
    list_version: str
    decided_list: str = ""
    """The last list whose decision was stored."""


class PodConfirmer:
    """Lists a job's pods from the server. `_confirmed` is by the UID of the job. The oldest entries
    are dropped first."""

    def __init__(self, api: PageSource, dialect: Dialect, *, limit: int = _MAX_JOBS) -> None:
        self._api = api
        self._dialect = dialect
        self._decoder = LineDecoder(Pod)
        self._limit = limit
        self._confirmed: dict[str, _Confirmed] = {}

    def is_due(self, snapshot: Snapshot) -> bool:
        """Whether the pods may be older than the job's status.

        Jobs that run as batch Jobs need no confirmation: they count no restarts and run only once,
        so whatever a pod has decided stays true.
        """
        job = snapshot.job
        if isinstance(job, InvalidJob) or job.workload is not Workload.POD:
            return False
        return not self.is_known(snapshot)

    def is_known(self, snapshot: Snapshot) -> bool:
        """Whether the pods are known to be at least as new as the job.

        This always holds for a job without a status: there is no earlier decision.
        """
        stored = snapshot.stored
        if not stored.has_status:
            return True
        found = self._confirmed.get(stored.metadata.uid)
        if found is None or found.version != stored.metadata.resource_version:
            return False
        return not found.list_version or reaches(snapshot.pods_version, found.list_version)

    def decided_list(self, uid: str) -> str:
        """The version of the last list of a job's pods whose decision was stored; empty if there
        was none."""
        found = self._confirmed.get(uid)
        return "" if found is None else found.decided_list

    def decision_stored(self, snapshot: Snapshot) -> None:
        """The decision on these pods is stored, or there was nothing to store."""
        uid = snapshot.stored.metadata.uid
        found = self._confirmed.get(uid)
        if found is not None and reaches(snapshot.pods_version, found.list_version):
            self._confirmed[uid] = found._replace(decided_list=found.list_version)

    async def confirm(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot with the pods as the server has them now."""
        job, meta = snapshot.job, snapshot.stored.metadata
        if isinstance(job, InvalidJob):
            return snapshot
        pods, list_version = await self._pods(job, snapshot.children.pods)
        decided = self.decided_list(meta.uid)
        self._remember(meta.uid, _Confirmed(meta.resource_version, list_version, decided))
        # A pod that this process saw end undisturbed is decided on as it ended.
        shown = [snapshot.ended_pods.get(each.metadata.uid, each) for each in pods]
        return msgspec.structs.replace(
            snapshot,
            children=msgspec.structs.replace(snapshot.children, pods=shown),
            pods_version=list_version,
            has_fresh_pods=True,
        )

    def pods_listed_after(self, jobs: Iterable[JobObject]) -> None:
        """The list of the cached pods began after these versions of the jobs were read."""
        for each in jobs:
            meta = each.metadata
            self._remember(meta.uid, _Confirmed(meta.resource_version, ""))

    def status_stored(self, replaced: JobObject, version: str) -> None:
        """This process replaced `replaced` with `version`, with no other write in between."""
        uid = replaced.metadata.uid
        found = self._confirmed.get(uid)
        if not replaced.has_status:
            self._remember(uid, _Confirmed(version, ""))
        elif found is not None and found.version == replaced.metadata.resource_version:
            self._remember(uid, found._replace(version=version))
        else:
            self.forget_job(uid)

    def forget_job(self, uid: str) -> None:
        self._confirmed.pop(uid, None)

    def clear(self) -> None:
        self._confirmed.clear()

    def _remember(self, uid: str, confirmed: _Confirmed) -> None:
        self._confirmed.pop(uid, None)
        if len(self._confirmed) >= self._limit:
            del self._confirmed[next(iter(self._confirmed))]
        self._confirmed[uid] = confirmed

    async def _pods(self, job: Job, cached: Sequence[Pod]) -> tuple[list[Pod], str]:
        """The job's pods, and the version of the list. A pod that cannot be decoded keeps its
        cached state."""
        label = self._dialect.job_label
        selector = f"{self._dialect.child_selector},{label}={job.child_labels.get(label, '')}"
        scope = Scope(resource=PODS, namespace=job.namespace, labels=selector)
        found = await list_all(
            self._api, scope, decoder=self._decoder, on_unreadable=_log_unreadable
        )
        pods = [
            each
            for each in found.objects
            if each.metadata.controller_uid == job.owner.uid
            and claim_of(job, each.metadata) is Claim.KEEP
        ]
        skipped = (each for each in cached if key_of(each.metadata) in found.skipped)
        return [*pods, *skipped], found.version


def _log_unreadable(event: Unreadable) -> None:
    fields = {"resource": PODS.plural, "key": event.key, "fault": event.fault}
    _log.warning("invalid object skipped", extra=fields)
