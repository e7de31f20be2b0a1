"""The cluster of one history: a model server, operators, kubelets, users and tenants.

Each method is something that somebody does. It says what it did in one line of plain English, or
returns None where there was nothing to do. Which of several objects is meant is given by a number,
so that a history is a list of numbers.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from tests.support.fake_kubelet import lifecycle, pod_status
from tests.support.fake_kubelet.pod_status import Exit
from tests.support.histories.choices import NAMESPACES, claim, new_job
from tests.support.histories.connection import Call, Fault
from tests.support.histories.laws import Laws
from tests.support.histories.loop import ManualLoop
from tests.support.histories.operator import SimulatedOperator
from tests.support.histories.server import ENDED, JOBS, PODS, Json, Key, ModelServer
from tests.support.histories.truth import Truth
from tfjob.client.errors import ApiError
from tfjob.dialects.kubeflow import api
from tfjob.k8s import time

START: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NAMES: Final = ("j", "k")
CODES: Final = (0, 0, 0, 0, 137, 137, 130, 1, 2, 143)
ON_SIGTERM: Final = (143, 0, 137, 0, 1)
WAITS: Final = (0.05, 0.2, 1.0, 3.0, 12.0, 70.0, 700.0)
STALLS: Final = (5.0, 30.0, 120.0)
SKEWS: Final = (-600, -60, 0, 60, 600)
FAULTS: Final = tuple(Fault)
_DEEP: Final = msgspec.Raw(b"[" * 2000 + b"]" * 2000)
_FINALIZER: Final = "tenant.example/hold"


class World:
    def __init__(self) -> None:
        self.loop = ManualLoop()  # type: ignore[abstract]  # it does no IO
        self.server = ModelServer(self.stamp)
        self.truth = Truth()
        self.laws = Laws(self.server, self.truth)
        self.operators: list[SimulatedOperator] = []
        self._lives = 0
        self.server.listeners += [self.truth.observe, self.laws.observe, self._feed]

    # The machinery.

    def stamp(self, seconds: int) -> str:
        return time.render(START + timedelta(seconds=self.loop.time() + seconds))

    def _feed(self, change: Any) -> None:
        for operator in self.operators:
            for channel in operator.channels:
                channel.add(change)

    def start_operator(self) -> str:
        self._lives += 1
        name = f"operator-{self._lives}"
        made = SimulatedOperator(name, self.server, self.loop, start=START, listener=self.laws)
        self.operators.append(made)
        return f"{name} starts"

    def settle(self) -> None:
        self.loop.settle()
        for operator in self.operators:
            operator.start_when_synced()
        self.loop.settle()

    def calls(self) -> list[tuple[SimulatedOperator, Call]]:
        return [(each, call) for each in self.operators for call in each.api.pending]

    def answer(self, which: int, fault: Fault | None = None) -> str | None:
        calls = self.calls()
        if not calls:
            return None
        operator, call = calls[which % len(calls)]
        if fault is Fault.OVERTAKEN:
            self.touch(call.key)
        operator.api.answer(call, fault)
        what = "" if fault is None else f": {fault.value}"
        return f"{operator.name}: {call.title}{what}"

    def answer_with_fault(self, which: int, how: int) -> str | None:
        return self.answer(which, FAULTS[how % len(FAULTS)])

    def deliver(self, which: int, how: int) -> str | None:
        channels = [
            (operator, channel)
            for operator in self.operators
            for channel in operator.channels
            if channel.stalled_until <= self.loop.time()
            and (channel.lines or not channel.is_listed)
        ]
        if not channels:
            return None
        operator, channel = channels[which % len(channels)]
        number = channel.deliver(1 + how % 6)
        return f"{operator.name} sees {number} event(s) of {channel.plural}"

    def relist(self, which: int, _: int) -> str | None:
        channels = [(each, channel) for each in self.operators for channel in each.channels]
        if not channels:
            return None
        operator, channel = channels[which % len(channels)]
        channel.relist()
        return f"{operator.name}: the watch of {channel.plural} is lost, and they are listed anew"

    def stall(self, which: int, how: int) -> str | None:
        """One watch brings nothing for a while, and the others go on."""
        channels = [(each, channel) for each in self.operators for channel in each.channels]
        if not channels:
            return None
        operator, channel = channels[which % len(channels)]
        seconds = STALLS[how % len(STALLS)]
        channel.stalled_until = self.loop.time() + seconds
        return f"{operator.name}: the watch of {channel.plural} is silent for {seconds} seconds"

    def wait(self, _: int, how: int) -> str:
        seconds = WAITS[how % len(WAITS)]
        self.loop.advance(seconds)
        return f"{seconds} seconds pass"

    def collect(self, _: int, __: int) -> str | None:
        found = self.server.collect()
        if found is None:
            return None
        return f"the garbage collector deletes {found['metadata']['name']}"

    # The operator process.

    def crash(self, which: int, how: int) -> str | None:
        """Requests on their way may or may not have arrived."""
        if not self.operators:
            return None
        operator = self.operators.pop(which % len(self.operators))
        arrived = [call for place, call in enumerate(operator.api.pending) if how >> place & 1]
        for call in arrived:
            try:
                operator.api.carry_out(call)
            except ApiError:
                continue
        operator.crash()
        self.settle()
        if not self.operators:
            self.start_operator()
        which_arrived = ", ".join(call.title for call in arrived) or "nothing"
        return f"{operator.name} dies; of its requests arrived: {which_arrived}"

    def second_leader(self, _: int, __: int) -> str | None:
        if len(self.operators) > 1:
            return None
        self.laws.had_two_leaders = True
        return f"{self.start_operator()} and leads beside the other"

    def hand_over(self, which: int, _: int) -> str | None:
        """The first of two leaders sees that it no longer leads, and ends some time later."""
        if len(self.operators) < 2:
            return None
        operator = self.operators[which % 2]
        if not operator.leads:
            operator.crash()
            self.operators.remove(operator)
            return f"{operator.name} ends"
        if not self.operators[1 - which % 2].leads:
            return None
        operator.step_down()
        return f"{operator.name} no longer leads"

    def skew(self, which: int, how: int) -> str | None:
        if not self.operators:
            return None
        operator = self.operators[which % len(self.operators)]
        operator.skew = timedelta(seconds=SKEWS[how % len(SKEWS)])
        return f"the clock of {operator.name} is set to {SKEWS[how % len(SKEWS)]:+} seconds"

    # Users.

    def submit(self, which: int, how: int) -> str | None:
        namespace, name = NAMESPACES[which % 2 and how % 3 == 0], NAMES[which // 2 % 2]
        key = (JOBS, namespace, name)
        if key in self.server.objects:
            return None
        body = new_job(name, which, how)
        self.server.create(JOBS, namespace, body)
        roles = {kind: each["replicas"] for kind, each in body["spec"]["tfReplicaSpecs"].items()}
        policy = next(iter(body["spec"]["tfReplicaSpecs"].values()))["restartPolicy"]
        return (
            f"a user creates job {namespace}/{name}: {roles} {policy} {body['spec']['runPolicy']}"
        )

    def delete_job(self, which: int, _: int) -> str | None:
        key = self._pick(JOBS, which)
        if key is None:
            return None
        self.server.delete(key)
        return f"a user deletes job {key[1]}/{key[2]}"

    def delete_pod(self, which: int, how: int) -> str | None:
        key = self._pick(PODS, which)
        if key is None:
            return None
        grace = 0 if how % 5 == 0 else 30
        self.server.delete(key, grace=grace)
        return f"a user deletes pod {key[1]}/{key[2]} with a grace of {grace} seconds"

    def suspend(self, which: int, _: int) -> str | None:
        key = self._pick(JOBS, which)
        if key is None:
            return None
        job = self.server.objects[key]
        policy = job["spec"]["runPolicy"]
        is_on = not policy.get("suspend")
        spec = {**job["spec"], "runPolicy": {**policy, "suspend": is_on}}
        self.server.edit(key, {**job, "spec": spec})
        return f"a user {'suspends' if is_on else 'resumes'} job {key[1]}/{key[2]}"

    def scale(self, which: int, how: int) -> str | None:
        key = self._pick(JOBS, which)
        if key is None:
            return None
        job = self.server.objects[key]
        specs = job["spec"]["tfReplicaSpecs"]
        count = 1 + how % 3
        specs = {**specs, "Worker": {**specs["Worker"], "replicas": count}}
        self.server.edit(key, {**job, "spec": {**job["spec"], "tfReplicaSpecs": specs}})
        return f"a user scales the workers of {key[1]}/{key[2]} to {count}"

    def annotate(self, which: int, how: int) -> str | None:
        key = self._pick(JOBS, which)
        if key is None:
            return None
        for _ in range(1 + how % 3):
            self.touch(key)
            self.loop.advance(0.05)
        return f"a user edits job {key[1]}/{key[2]} {1 + how % 3} time(s), 50 ms apart"

    def touch(self, key: Key) -> None:
        found = self.server.objects.get(key)
        if found is not None:
            notes = {"touched": str(self.server.version)}
            meta = {**found["metadata"], "annotations": notes}
            self.server.edit(key, {**found, "metadata": meta})

    # Tenants.

    def spoof(self, which: int, how: int) -> str | None:
        """Somebody makes a pod that claims to belong to a job."""
        key = self._pick(JOBS, which)
        if key is None:
            return None
        job = self.server.objects[key]
        namespace, owners, name = claim(key, job, how)
        labels = {
            api.LABEL_OPERATOR: api.OPERATOR,
            api.LABEL_JOB: key[2],
            api.LABEL_TYPE: "worker",
            api.LABEL_INDEX: str(how // 8 % 3),
        }
        if (PODS, namespace, name) in self.server.objects:
            return None
        meta: Json = {"name": name, "labels": labels}
        if owners:
            meta["ownerReferences"] = owners
        spec = {"containers": [{"name": "tensorflow", "image": "x"}], "restartPolicy": "Never"}
        self.server.create(PODS, namespace, {"metadata": meta, "spec": spec})
        whose = [each["uid"] for each in owners] or "nobody"
        return f"a tenant makes pod {namespace}/{name} for {key[1]}/{key[2]}, owned by {whose}"

    def hold(self, which: int, _: int) -> str | None:
        """Somebody puts a finalizer on a pod, or takes it away."""
        key = self._pick(PODS, which)
        if key is None:
            return None
        has = self.server.objects[key]["metadata"].get("finalizers")
        if not has and "deletionTimestamp" in self.server.objects[key]["metadata"]:
            return None
        self.server.let_go(key, [] if has else [_FINALIZER])
        return f"a tenant {'removes' if has else 'puts'} a finalizer on pod {key[1]}/{key[2]}"

    def deep(self, which: int, _: int) -> str | None:
        key = (JOBS, NAMESPACES[which % 2], "deep")
        if key in self.server.objects:
            return None
        body = new_job("deep", 0, 0)
        body["spec"]["deep"] = _DEEP
        self.server.create(JOBS, key[1], body)
        return f"a tenant creates job {key[1]}/deep, nested 2000 levels deep"

    # Kubelets and nodes.

    def kubelet(self, which: int, how: int) -> str | None:
        """A kubelet takes the next step with one pod; a container that runs ends."""
        key = self._pick(PODS, which)
        if (
            key is None
            or self.server.objects[key]["spec"].get("nodeName") in self.server.lost_nodes
        ):
            return None
        return self.take_step(key, CODES[how % len(CODES)], is_ending=how % 3 == 0)

    def take_step(self, key: Key, code: int, *, is_ending: bool) -> str | None:
        pod = self.server.objects[key]
        title = f"pod {key[1]}/{key[2]}"
        sigterm = Exit(code=ON_SIGTERM[code % len(ON_SIGTERM)])
        step = lifecycle.next_step(pod, self.stamp(0), on_sigterm=sigterm)
        if step is lifecycle.Action.BIND:
            node = f"n{int(pod['metadata']['uid'].rpartition('-')[2]) % 3}"
            if node in self.server.lost_nodes:
                node = "n9"
            self.server.edit(key, {**pod, "spec": {**pod["spec"], "nodeName": node}})
            return f"{title} is bound to {node}"
        if step is lifecycle.Action.REMOVE:
            if pod["metadata"].get("deletionGracePeriodSeconds") == 0:
                return None
            self.server.delete(key, grace=0)
            return f"the kubelet removes {title}"
        if step is None:
            return self._end(key, code) if is_ending else None
        assert isinstance(step, dict)
        self.set_status(key, step)
        return f"{title} is reported: {_shown(step)}"

    def _end(self, key: Key, code: int) -> str | None:
        pod = self.server.objects[key]
        if pod["status"].get("phase") != "Running":
            return None
        how = Exit(code=code)
        status = pod_status.exited(pod, self.stamp(0), container="tensorflow", how=how)
        self.set_status(key, status)
        return f"pod {key[1]}/{key[2]}: its container exits with {code}"

    def evict(self, which: int, how: int) -> str | None:
        key = self._pick(PODS, which)
        if key is None:
            return None
        pod = self.server.objects[key]
        if pod["status"].get("phase") != "Running" or "deletionTimestamp" in pod["metadata"]:
            return None
        if how % 2:
            self.set_status(key, pod_status.evicted(pod, self.stamp(0), message="low on memory"))
            return f"the kubelet evicts pod {key[1]}/{key[2]}"
        status = pod_status.disrupted(pod, self.stamp(0), reason="EvictionByEvictionAPI")
        self.set_status(key, status)
        if how % 4 == 0:
            self.server.delete(key)
        return f"pod {key[1]}/{key[2]} is marked to be disrupted"

    def lose_node(self, which: int, _: int) -> str | None:
        """A node is gone, or a lost one is cleaned up after by the pod garbage collector."""
        node = f"n{which % 3}"
        if node not in self.server.lost_nodes:
            if self.server.lost_nodes:
                return None
            self.server.lost_nodes.add(node)
            for key in self.keys(PODS):
                if self.server.objects[key]["spec"].get("nodeName") == node:
                    self.server.delete(key)
            return f"node {node} is lost, and its pods are deleted"
        self.clean_lost(node)
        return f"pods of the lost node {node} are removed by force"

    def clean_lost(self, node: str) -> None:
        for key in self.keys(PODS):
            pod = self.server.objects[key]
            if pod["spec"].get("nodeName") != node:
                continue
            if pod["status"].get("phase") not in ENDED:
                status = pod_status.disrupted(pod, self.stamp(0), reason="DeletionByPodGC")
                self.set_status(key, {**status, "phase": "Failed"})
            self.server.delete(key, grace=0)

    def set_status(self, key: Key, status: Json) -> None:
        self.server.edit(key, {**self.server.objects[key], "status": status})

    def keys(self, plural: str) -> list[Key]:
        return [key for key in self.server.objects if key[0] == plural]

    def _pick(self, plural: str, which: int) -> Key | None:
        found = [key for key in self.keys(plural) if key[2] != "deep"]
        return found[which % len(found)] if found else None


Action = Callable[[World, int, int], str | None]


def _shown(status: Json) -> str:
    states = [next(iter(each["state"]), "nothing") for each in status.get("containerStatuses", ())]
    return f"{status['phase']}, containers {states}"
