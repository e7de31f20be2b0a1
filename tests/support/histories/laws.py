"""What must never happen, checked at every request and every change of a history.

Laws look at the server's objects and at the truth about pods, never at what an operator believes.
They hold under late caches, late requests and two leaders alike. Each exception is stated where it
is made, with its reason.
"""

from collections.abc import Sequence
from typing import Final

from tests.support import invariants
from tests.support.histories.connection import CURRENT, Call, Pass
from tests.support.histories.operator import Listener
from tests.support.histories.recovery_laws import RecoveryLaws, is_lost
from tests.support.histories.server import JOBS, PODS, SERVICES, Change, Json, ModelServer
from tests.support.histories.truth import JobFacts, PodFacts, Truth, controller_of, place_of
from tfjob.client.watch_codec import Key
from tfjob.core.status import JobStatus, Limit, PodRecord, RecordCause
from tfjob.k8s.event import Event

_ENDS: Final = {"TFJobSucceeded": "Succeeded", "TFJobFailed": "Failed"}
_CHILDREN: Final = frozenset({PODS, SERVICES})


class Laws(Listener):
    """`broken` are the laws that were broken, in order."""

    def __init__(self, server: ModelServer, truth: Truth) -> None:
        self._server = server
        self._truth = truth
        self.recovery = RecoveryLaws(truth)
        self.broken: list[str] = []
        self.overlaps: list[int] = []
        """The steps at which two operators led at the same time."""
        self._listed: dict[tuple[str, Key], int] = {}
        """The steps at which operators last listed the pods of jobs."""
        self.holds_results = False
        """Every operator so far has put the result finalizer on the pods that decide."""

    def begun(self) -> None:
        CURRENT.set(Pass(self._truth.step))

    def crashed(self, key: Key, error: Exception) -> None:
        self._break(f"a reconcile of {key[0]}/{key[1]} raised {error!r}")

    def told(self, event: Event) -> None:
        """Events leave after the status that proves them; that of a job that is gone is unknown."""
        kind = _ENDS.get(event.reason)
        job = self._truth.jobs.get(event.uid)
        if kind is None or job is None or job.gone_at:
            return
        if job.verdict != kind:
            self._break(f"event {event.reason} of {job.name} before its status was stored")

    def requested(self, call: Call) -> None:
        plural = call.key[0]
        if call.verb == "get" and plural == JOBS:
            self._note_look(call)
        elif call.verb == "list" and plural == PODS:
            self._listed[call.operator, call.key[1:]] = self._truth.step
        elif call.verb == "create" and plural in _CHILDREN:
            self._check_create(call)
        elif call.verb == "delete":
            self._check_delete(call)
        elif call.verb == "patch":
            self._check_patch(call)
        elif call.body is not None and not call.body["metadata"].get("resourceVersion"):
            self._break(f"{call.title} without the version that was decided on")

    def observe(self, change: Change) -> None:
        self.recovery.observe(change)
        if change.key[0] == JOBS and change.new is not None and change.by:
            self._check_status(change.new, by=change.by)
        if change.key[0] == PODS and change.old is None and change.new is not None and change.by:
            self._check_only_one(change.new)
            self._check_not_done(change.new)

    def _note_look(self, call: Call) -> None:
        found = self._server.objects.get(call.key)
        if found is None or call.reconcile is None or "deletionTimestamp" in found["metadata"]:
            return
        call.reconcile.looked.add(found["metadata"]["uid"])

    def _check_create(self, call: Call) -> None:
        meta = (call.body or {})["metadata"]
        job = self._truth.jobs.get(controller_of(meta))
        if job is None or job.namespace != call.key[1]:
            self._break(f"{call.title} without an owner in its namespace")
            return
        if call.key[0] == PODS and call.key not in self._server.objects:
            self._check_pod_is_due(call, job, meta)

    def _check_pod_is_due(self, call: Call, job: JobFacts, meta: Json) -> None:
        """What was stored before the reconcile began must have been known to it."""
        if call.reconcile is None:
            return
        begun = call.reconcile.begun
        place = place_of(meta)
        if place is None:
            self._break(f"{call.title} without a place")
        elif job.terminating_at and job.terminating_at < begun and not _is_unread(job):
            self._break(f"{call.title} for a job that is being deleted")
        elif job.verdict and job.finished_at < begun and not self._is_shared(job):
            self._break(f"{call.title} after its job had ended as {job.verdict}")
        elif place in job.completed_at and job.completed_at[place] < begun:
            self._break(f"{call.title} although this replica has a stored success")
        elif not self.overlaps:
            self._break_if(self.recovery.mixed_group(job, place))

    def _is_shared(self, job: JobFacts) -> bool:
        """Whether two operators led between the creation of a job and that of its first pod.

        An operator does not read a job again that appeared while it led: no other may write then.
        """
        until = job.first_pod_at or self._truth.step
        return any(job.made_at <= step <= until for step in self.overlaps)

    def _check_only_one(self, pod: Json) -> None:
        """No replica runs twice; pods that a tenant made are no operator's doing."""
        facts = self._truth.pods[pod["metadata"]["uid"]]
        job = self._truth.jobs.get(facts.owner)
        if job is None or facts.place is None:
            return
        for other in self._truth.pods_of(job, facts.place):
            if other.uid != facts.uid and other.maker and not (other.is_gone or other.has_ended):
                self._break(f"pod {facts.name} made while {other.name} runs for the same replica")

    def _check_not_done(self, pod: Json) -> None:
        """A decisive replica that has succeeded never runs again, wherever its pod has gone."""
        facts = self._truth.pods[pod["metadata"]["uid"]]
        job = self._truth.jobs.get(facts.owner)
        if job is None or not self.holds_results or self.overlaps or job.was_suspended:
            return
        if facts.place not in job.deciders or job.policy_of(facts.place[0]) == "Always":
            return
        done = [each.name for each in self._truth.pods_of(job, facts.place) if _is_kept(each)]
        if done:
            self._break(f"pod {facts.name} made again, although {done[0]} had succeeded")

    def _check_delete(self, call: Call) -> None:
        if call.uid is None:
            self._break(f"{call.title} without the UID of what is meant")
        found = self._server.objects.get(call.key)
        if found is None or call.key[0] not in _CHILDREN:
            return
        meta = found["metadata"]
        if call.uid not in {None, meta["uid"]}:
            return
        if call.is_forced and found["spec"].get("nodeName") not in self._server.lost_nodes:
            self._break(f"{call.title} by force, although its node lives")
        job = self._owner(call, meta)
        if job is None or call.key[0] != PODS or "deletionTimestamp" in meta:
            return
        self._check_pod_may_go(call, job, self._truth.pods[meta["uid"]])

    def _check_pod_may_go(self, call: Call, job: JobFacts, pod: PodFacts) -> None:
        """What is decided about a pod is stored before the pod is deleted.

        After a verdict or while the status says Suspended, that is the decision about every pod. A
        pod of a replica type that the job does not have was never the job's to decide on.
        """
        self._break_if(self.recovery.early_server(job, pod, call.reconcile))
        if job.verdict or job.gone_at or job.status.is_true("Suspended"):
            return
        if pod.place is None or pod.place[0] not in {each.lower() for each in job.replicas}:
            return
        if pod.uid not in job.recorded_uids:
            self._break(f"{call.title} before anything about it was stored")

    def _check_patch(self, call: Call) -> None:
        found = self._server.objects.get(call.key)
        if found is None or call.body is None:
            return
        meta = found["metadata"]
        if call.body["metadata"].get("uid") != meta["uid"]:
            return
        added = [
            each
            for each in call.body["metadata"].get("ownerReferences", ())
            if "$patch" not in each
        ]
        for reference in added:
            job = self._truth.jobs.get(reference["uid"])
            if job is None or job.namespace != call.key[1]:
                self._break(f"{call.title} for a job that is not in its namespace")
            elif call.reconcile is not None and job.uid not in call.reconcile.looked:
                self._break(f"{call.title} without a look whether {job.name} stays")
        if call.body["metadata"].keys() & {"ownerReferences"} and not added:
            self._owner(call, meta)

    def _owner(self, call: Call, meta: Json) -> JobFacts | None:
        """The job that owns what is written; only that one may be the reason."""
        job = self._truth.jobs.get(controller_of(meta))
        if job is None or job.namespace != call.key[1]:
            self._break(f"{call.title} although no job of its namespace owns it")
            return None
        return job

    def _check_status(self, stored: Json, *, by: str) -> None:
        job = self._truth.jobs[stored["metadata"]["uid"]]
        before, status = job.status, self._truth.decoded(stored)
        job.status = status
        try:
            if not job.is_refused:  # It has one condition, which says why.
                invariants.conditions_are_legal(status)
        except AssertionError:
            shown = [(each.type, each.status) for each in status.conditions]
            self._break(f"conditions of {job.name} are not legal: {shown}")
        resumes = before.is_true("Suspended") and not status.is_true("Suspended")
        if resumes:
            # What joins the job after the list belongs to the run that the user asks for.
            found = self._listed.get((by, (job.namespace, job.name)))
            job.resumed_at = self._truth.step if found is None else found
            job.completed_at.clear()
        self._check_verdict(job, status)
        self._check_counts(job, before, status)
        self._check_successes(job, before, status, resumes=resumes)

    def _check_verdict(self, job: JobFacts, status: JobStatus) -> None:
        ends = [kind for kind in ("Succeeded", "Failed") if status.is_true(kind)]
        if job.verdict:
            if ends != [job.verdict]:
                self._break(f"{job.name} ended as {job.verdict}, and now as {ends}")
            return
        if not ends:
            return
        job.verdict, job.finished_at = ends[0], self._truth.step
        if ends[0] == "Succeeded":
            for place in job.deciders:
                if not any(pod.has_succeeded for pod in self._truth.run_of(job, place)):
                    self._break(f"{job.name} succeeded, but {place} never did")
        elif not self._may_fail(job, status):
            self._break(f"{job.name} failed, but nothing of it did")

    def _may_fail(self, job: JobFacts, status: JobStatus) -> bool:
        pods = self._truth.pods_of(job)
        if job.is_refused:
            return True
        if status.limit_reached is Limit.DEADLINE:
            return "activeDeadlineSeconds" in job.run_policy
        if status.limit_reached is Limit.BACKOFF:
            limit = job.run_policy.get("backoffLimit")
            restarts = status.restarts + sum(pod.restarts for pod in pods)
            return limit is not None and restarts >= limit
        for pod in self._truth.run_of(job):
            policy = "" if pod.place is None else job.policy_of(pod.place[0])
            # Marks and deletions win where the operator sees them together with an end.
            if policy == "Never" and (pod.has_failed or pod.is_marked or pod.is_terminating):
                return True
            is_permanent = pod.code is not None and 0 < pod.code < 128
            if policy == "ExitCode" and pod.has_failed and is_permanent:
                return True
        return False

    def _check_counts(self, job: JobFacts, before: JobStatus, status: JobStatus) -> None:
        """Each failed pod is counted once, by its UID, and a disrupted one never."""
        for kind, found in status.replicas.items():
            job.recorded_uids |= {each.uid for each in found.records}
            failed = job.failed_uids.setdefault(kind, set())
            new = {each.uid for each in found.records if each.cause is RecordCause.FAILED} - failed
            failed |= new
            for uid in new:
                pod = self._truth.pods.get(uid)
                # One that was restarted in place is counted when its group is restarted.
                if pod is not None and pod.restarts:
                    continue
                if pod is None or not pod.has_ended or pod.is_disrupted:
                    what = uid if pod is None else pod.name
                    self._break(f"{job.name} counts a restart of {what}, which did not fail")
                elif pod.joined_at < job.resumed_at:
                    self._break(f"{job.name} counts a restart of {pod.name} of an earlier run")
            known = before.of(kind).records
            self._check_consequences(job, [each for each in found.records if each not in known])
            if found.restarts < before.of(kind).restarts:
                self._break(f"{job.name} forgets restarts of {kind}")
            in_place = self._restarts_in_place(job, kind)
            if not len(failed) <= found.restarts <= len(failed) + in_place:
                counted = f"{found.restarts} restarts of {kind} for {len(failed)} pods"
                self._break(f"{job.name} counts {counted}")
        limit = job.run_policy.get("backoffLimit")
        total = sum(map(len, job.failed_uids.values()))
        if limit is not None and total > limit:
            self._break(f"{job.name} restarts {total} pods, its limit is {limit}")

    def _restarts_in_place(self, job: JobFacts, kind: str) -> int:
        """Restarts by kubelets; they count only under policies that leave restarts to them."""
        if job.policy_of(kind.lower()) in {"ExitCode", "Never"}:
            return 0
        pods = self._truth.pods_of(job)
        return sum(pod.restarts for pod in pods if pod.place and pod.place[0] == kind.lower())

    def _check_consequences(self, job: JobFacts, new: Sequence[PodRecord]) -> None:
        """Only a plain failure beside a lost peer is a consequence; a cause is always counted."""
        for each in new:
            self._break_if(self.recovery.superseded(job, each))
            if each.cause is not RecordCause.CONSEQUENCE:
                continue
            pod = self._truth.pods.get(each.uid)
            if pod is None or not pod.has_failed or not 1 <= (pod.code or 0) <= 125:
                self._break(f"{job.name} excuses {each.uid}, which did not follow from anything")
                continue
            others = [other for other in self._truth.pods_of(job) if other.uid != pod.uid]
            if not any(is_lost(job, other) for other in others):
                self._break(f"{job.name} excuses {pod.name}, but lost no other replica")

    def _check_successes(
        self, job: JobFacts, before: JobStatus, status: JobStatus, *, resumes: bool
    ) -> None:
        for kind, found in status.replicas.items():
            old = before.of(kind).completed
            if not resumes and old - found.completed:
                self._break(f"{job.name} forgets successes of {kind}")
            for index in found.completed - old:
                place = (kind.lower(), index)
                job.completed_at[place] = self._truth.step
                if not any(pod.has_succeeded for pod in self._truth.run_of(job, place)):
                    self._break(f"{job.name} stores a success of {place} that never was")

    def _break(self, text: str) -> None:
        self.broken.append(text)

    def _break_if(self, text: str) -> None:
        if text:
            self._break(text)


def _is_unread(job: JobFacts) -> bool:
    """Whether a job was deleted before its first pod was created.

    An operator does not read a job again that appeared while it led. It may create pods of a job
    whose deletion it has not seen yet; the garbage collector deletes them with the job.
    """
    return not job.first_pod_at or job.first_pod_at >= job.terminating_at


def _is_kept(pod: PodFacts) -> bool:
    """A pod of the operator, with its finalizer, that succeeded by itself."""
    return bool(pod.maker) and pod.was_done and pod.has_succeeded
