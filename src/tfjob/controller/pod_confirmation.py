"""Confirms pods with the API server before a decision about them is stored.

A status is written on condition that the job has not changed, but the cached pods may be older than
that version of the job. Another leader may have counted a pod since, deleted it, and dropped its
record; a decision from the stale cache would count the pod again. So the pods are listed from the
server, unless this process knows that its cache is as new as the job.

The known versions only save requests. Dropping them never changes a result.
"""

import logging
from collections.abc import Sequence
from typing import Final

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

_log: Final = logging.getLogger(__name__)
_MAX_JOBS: Final = 10_000


class PodConfirmer:
    """Lists a job's pods from the server. `_versions` holds, by the UID of the job, the version of
    the job that the cached pods are at least as new as. The oldest entries are dropped first."""

    def __init__(self, api: PageSource, dialect: Dialect, *, limit: int = _MAX_JOBS) -> None:
        self._api = api
        self._dialect = dialect
        self._decoder = LineDecoder(Pod)
        self._limit = limit
        self._versions: dict[str, str] = {}

    def is_due(self, snapshot: Snapshot) -> bool:
        """Whether the cached pods may be older than the job's status.

        Jobs that run as batch Jobs need no confirmation: they count no restarts and run only once,
        so whatever a pod has decided stays true.
        """
        job = snapshot.job
        if isinstance(job, InvalidJob) or job.workload is not Workload.POD:
            return False
        return not self.is_known(snapshot.stored)

    def is_known(self, stored: JobObject) -> bool:
        """Whether the cached pods are at least as new as this version of the job.

        This always holds for a job without a status: there is no earlier decision.
        """
        meta = stored.metadata
        return not stored.has_status or self._versions.get(meta.uid) == meta.resource_version

    async def confirm(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot with the pods as the server has them now."""
        job = snapshot.job
        if isinstance(job, InvalidJob):
            return snapshot
        cached = snapshot.children.pods
        pods = await self._pods(job, cached)
        if not snapshot.has_fresh_pods and _versions(pods) == _versions(cached):
            meta = snapshot.stored.metadata
            self._remember(meta.uid, meta.resource_version)
        children = msgspec.structs.replace(snapshot.children, pods=pods)
        return msgspec.structs.replace(snapshot, children=children, has_fresh_pods=True)

    def pods_listed_after(self, stored: JobObject) -> None:
        """The list of the cached pods began after this version of the job was read."""
        self._remember(stored.metadata.uid, stored.metadata.resource_version)

    def status_stored(self, replaced: JobObject, version: str) -> None:
        """This process replaced `replaced` with `version`, with no other write in between."""
        uid = replaced.metadata.uid
        if self.is_known(replaced):
            self._remember(uid, version)
        else:
            self.forget_job(uid)

    def forget_job(self, uid: str) -> None:
        self._versions.pop(uid, None)

    def clear(self) -> None:
        self._versions.clear()

    def _remember(self, uid: str, version: str) -> None:
        self._versions.pop(uid, None)
        if len(self._versions) >= self._limit:
            del self._versions[next(iter(self._versions))]
        self._versions[uid] = version

    async def _pods(self, job: Job, cached: Sequence[Pod]) -> list[Pod]:
        """The job's pods. A pod that cannot be decoded keeps its cached state."""
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
        return [*pods, *(each for each in cached if key_of(each.metadata) in found.skipped)]


def _versions(pods: Sequence[Pod]) -> set[tuple[str, str]]:
    return {(each.metadata.uid, each.metadata.resource_version) for each in pods}


def _log_unreadable(event: Unreadable) -> None:
    fields = {"resource": PODS.plural, "key": event.key, "fault": event.fault}
    _log.warning("invalid object skipped", extra=fields)
