"""Pods that ended, and were deleted or disrupted before a reconcile of their job saw the end.

Informers go on during a reconcile. The next one may find a pod that has ended already deleted, or
marked as disrupted, and cannot tell which came first. So the state before that is kept until a
reconcile has decided on it. If it is lost, the pod counts as deleted, as it does for an operator
that was away. The same is true if the pod is gone and somebody else has changed the job since: then
the pods of the server decide, because that may have been another leader.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from tfjob.client.store import Store
from tfjob.client.watch_codec import key_of
from tfjob.core import result_finalizer
from tfjob.core.claim import Claim, claim_of
from tfjob.core.job import Job
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import Pod
from tfjob.k8s.resource_version import is_older

_MAX_PODS: Final = 2000


class EndedPods:
    """The last undisturbed states of pods, by name.

    If there are too many, the namespace with the most loses its oldest one, so that no tenant can
    push out the pods of another.
    """

    def __init__(self, *, limit: int = _MAX_PODS) -> None:
        self._pods = Store[Pod]()
        self._limit = limit

    def __len__(self) -> int:
        return len(self._pods)

    def keep(self, pod: Pod) -> None:
        """Keep the state in which a pod was when somebody deleted or disrupted it."""
        if self._pods.get(key_of(pod.metadata)) is None and len(self._pods) >= self._limit:
            self.drop([self._oldest_of_fullest_namespace()])
        self._pods.put(pod)

    def undecided(self, job: Job, cached: Store[Pod], *, since: str) -> Mapping[str, Pod]:
        """The kept pods of a job, by UID, whose end still has to be decided on. Others are dropped.

        The cache may lag behind the server. What it shows late was decided on with the list of the
        version `since`, if the job's pods were listed.
        """
        kept = self._pods.owned_by(job.namespace, job.owner.uid)
        if not kept:
            return {}
        new = [pod for pod in kept if not since or is_older(since, pod.metadata.resource_version)]
        own = [pod for pod in new if _is_still_of(job, pod, cached)]
        found = {each.metadata.uid: each for each in result_finalizer.pods_without_result(job, own)}
        self.drop(pod for pod in kept if pod.metadata.uid not in found)
        return found

    def drop(self, pods: Iterable[Pod]) -> None:
        """Drop pods that were decided on."""
        for each in pods:
            key = key_of(each.metadata)
            if self._pods.get(key) is each:
                self._pods.remove(key)

    def _oldest_of_fullest_namespace(self) -> Pod:
        [(fullest, _)] = Counter(each.metadata.namespace for each in self._pods).most_common(1)
        return next(each for each in self._pods if each.metadata.namespace == fullest)

    def forget_job(self, job: ObjectMeta) -> None:
        self.drop(self._pods.owned_by(job.namespace, job.uid))


def _is_still_of(job: Job, pod: Pod, cached: Store[Pod]) -> bool:
    """Whether the pod was not released, and no other pod has its name by now."""
    meta = (cached.get(key_of(pod.metadata)) or pod).metadata
    return meta.uid == pod.metadata.uid and claim_of(job, meta) is Claim.KEEP
