"""The cluster of one history: a model server, operators, kubelets, users and tenants.

Each method is something that somebody does. It says what it did in one line of plain English, or
returns None where there was nothing to do. Which of several objects is meant is given by a number,
so that a history is a list of numbers.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from tests.support.histories.choices import NAMESPACES, new_job
from tests.support.histories.connection import Call, Fault
from tests.support.histories.laws import Laws
from tests.support.histories.loop import ManualLoop
from tests.support.histories.operator import START, SimulatedOperator
from tests.support.histories.server import JOBS, PODS, Json, Key, ModelServer
from tests.support.histories.truth import Place, Truth
from tfjob.client.errors import ApiError
from tfjob.dialects.base import Settings
from tfjob.k8s import time

NAMES: Final = ("j", "k")
CODES: Final = (0, 0, 0, 0, 137, 137, 130, 1, 2, 143)
WAITS: Final = (0.05, 0.2, 1.0, 3.0, 12.0, 70.0, 700.0)
LATEST: Final = 30.0
"""Seconds after which a server no longer works on a request that nobody waits for."""
STALLS: Final = (5.0, 30.0, 120.0)
SKEWS: Final = (-600, -60, 0, 60, 600)
FAULTS: Final = tuple(Fault)
DEEP: Final = "deep"
HUGE: Final = "huge"
_ODD: Final = frozenset({DEEP, HUGE})
"""Jobs that no user touches once they exist."""


class World:
    def __init__(self, *, holds_results: bool = False) -> None:
        self.loop = ManualLoop()  # type: ignore[abstract]  # it does no IO
        self.server = ModelServer(self.server_time)
        self.truth = Truth()
        self.laws = Laws(self.server, self.truth)
        self.operators: list[SimulatedOperator] = []
        self.codes: Sequence[int] = CODES
        self.last_code = 0
        """How programs end once the faults have ended."""
        self.cases: list[tuple[int, Place | None]] = []
        """What a proof counts: the step, and the replica where it matters."""
        self.disturbances = 0
        self.server_skew = 0
        self.node_skews: dict[str, int] = {}
        """Seconds by which clocks are wrong."""
        self._late: list[tuple[float, SimulatedOperator, Call]] = []
        self._lives = 0
        self.holds_results = self.laws.holds_results = holds_results
        """Whether operators that start put the result finalizer on pods."""
        self.server.listeners += [self.truth.observe, self.laws.observe, self._feed]

    # The machinery.

    def server_time(self, seconds: int = 0) -> str:
        """The server's time, so many seconds later."""
        elapsed = self.loop.time() + self.server_skew + seconds
        return time.render(START + timedelta(seconds=elapsed))

    def node_time(self, pod: Json) -> str:
        """The time on the node of a pod."""
        skew = self.node_skews.get(pod["spec"].get("nodeName", ""), 0)
        return time.render(START + timedelta(seconds=self.loop.time() + skew))

    def _feed(self, change: Any) -> None:
        for operator in self.operators:
            for channel in operator.channels:
                channel.add(change)

    def start_operator(self) -> str:
        self._lives += 1
        name = f"operator-{self._lives}"
        given = Settings(has_result_finalizers=self.holds_results)
        self.laws.holds_results &= self.holds_results
        self.operators.append(
            SimulatedOperator(name, self.server, self.loop, settings=given, listener=self.laws)
        )
        return f"{name} starts{' with result finalizers' if self.holds_results else ''}"

    def settle(self) -> None:
        self.loop.settle()
        for operator in self.operators:
            operator.start_when_synced()
        self.loop.settle()
        if sum(each.leads for each in self.operators) > 1:
            self.laws.overlaps.append(self.truth.step)
        if all(each.has_seen_all(PODS) for each in self.operators):
            self.laws.recovery.caught_up()

    def calls(self) -> list[tuple[SimulatedOperator, Call]]:
        return [(each, call) for each in self.operators for call in each.api.pending]

    def answer(self, which: int, fault: Fault | None = None) -> str | None:
        calls = self.calls()
        if not calls:
            return None
        operator, call = calls[which % len(calls)]
        if fault is Fault.OVERTAKEN:
            self.touch(call.key)
        if fault is Fault.LATE:
            self._late.append((self.loop.time() + LATEST, operator, call))
        operator.api.answer(call, fault)
        what = "" if fault is None else f": {fault.value}"
        return f"{operator.name}: {call.title}{what}"

    def answer_well(self, which: int, _: int) -> str | None:
        return self.answer(which)

    def answer_with_fault(self, which: int, how: int) -> str | None:
        return self.answer(which, FAULTS[how % len(FAULTS)])

    def arrive(self, _: int, __: int) -> str | None:
        """A request that its sender has given up takes effect."""
        while self._late:
            latest, operator, call = self._late.pop(0)
            if latest < self.loop.time():
                continue
            with suppress(ApiError):
                operator.api.carry_out(call)
            return f"{operator.name}: {call.title} takes effect late"
        return None

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
        arrived = self._arriving(operator, how)
        operator.crash()
        self.settle()
        if not self.operators:
            self.holds_results ^= how % 7 == 0
            self.start_operator()
        return f"{operator.name} dies; of its requests arrived: {arrived}"

    def lose_lease(self, which: int, how: int) -> str | None:
        """An operator loses the lease, with requests on their way, or gets it back."""
        if len(self.operators) != 1:
            return None
        operator = self.operators[0]
        if not operator.leads:
            operator.lead()
            return f"{operator.name} leads again"
        arrived = self._arriving(operator, how if which % 2 else 0)
        operator.step_down()
        return f"{operator.name} loses the lease; of its requests arrived: {arrived}"

    def _arriving(self, operator: SimulatedOperator, how: int) -> str:
        """Let some of the requests on their way take effect; nobody sees the answers."""
        calls = [call for place, call in enumerate(operator.api.pending) if how >> place & 1]
        for call in calls:
            with suppress(ApiError):
                operator.api.carry_out(call)
        return ", ".join(call.title for call in calls) or "nothing"

    def second_leader(self, _: int, __: int) -> str | None:
        if len(self.operators) > 1:
            return None
        return f"{self.start_operator()} and leads beside the other"

    def late_leader(self, _: int, how: int) -> str | None:
        """A second leader takes all lists, and then hears nothing of pods for a while."""
        said = self.second_leader(0, 0)
        if said is None:
            return None
        seconds = STALLS[how % len(STALLS)]
        for channel in self.operators[-1].channels:
            channel.relist()
            if channel.plural == PODS:
                channel.stalled_until = self.loop.time() + seconds
        return f"{said}; it hears nothing of pods for {seconds} seconds"

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
        key = self.pick(JOBS, which)
        if key is None:
            return None
        self.server.delete(key)
        return f"a user deletes job {key[1]}/{key[2]}"

    def delete_pod(self, which: int, how: int) -> str | None:
        key = self.pick(PODS, which)
        if key is None:
            return None
        grace = 0 if how % 5 == 0 else 30
        self.server.delete(key, grace=grace)
        return f"a user deletes pod {key[1]}/{key[2]} with a grace of {grace} seconds"

    def suspend(self, which: int, _: int) -> str | None:
        key = self.pick(JOBS, which)
        if key is None:
            return None
        job = self.server.objects[key]
        policy = job["spec"]["runPolicy"]
        is_on = not policy.get("suspend")
        spec = {**job["spec"], "runPolicy": {**policy, "suspend": is_on}}
        self.server.edit(key, {**job, "spec": spec})
        return f"a user {'suspends' if is_on else 'resumes'} job {key[1]}/{key[2]}"

    def scale(self, which: int, how: int) -> str | None:
        key = self.pick(JOBS, which)
        if key is None:
            return None
        job = self.server.objects[key]
        specs = job["spec"]["tfReplicaSpecs"]
        count = 1 + how % 3
        specs = {**specs, "Worker": {**specs["Worker"], "replicas": count}}
        self.server.edit(key, {**job, "spec": {**job["spec"], "tfReplicaSpecs": specs}})
        return f"a user scales the workers of {key[1]}/{key[2]} to {count}"

    def annotate(self, which: int, how: int) -> str | None:
        key = self.pick(JOBS, which)
        if key is None:
            return None
        for _ in range(1 + how % 3):
            self.touch(key)
            self.loop.advance(0.05)
        return f"a user edits job {key[1]}/{key[2]} {1 + how % 3} time(s), 50 ms apart"

    def touch(self, key: Key) -> None:
        found = self.server.objects.get(key)
        if found is not None:
            given = found["metadata"].get("annotations", {})
            meta = {
                **found["metadata"],
                "annotations": {**given, "touched": str(self.server.version)},
            }
            self.server.edit(key, {**found, "metadata": meta})

    # Objects.

    def set_status(self, key: Key, status: Json) -> None:
        """As kubelets do, with the generation of the pod that they know."""
        pod = self.server.objects[key]
        status = {**status, "observedGeneration": pod["metadata"]["generation"]}
        self.server.edit(key, {**pod, "status": status})

    def keys(self, plural: str) -> list[Key]:
        return [key for key in self.server.objects if key[0] == plural]

    def pick(self, plural: str, which: int) -> Key | None:
        found = [key for key in self.keys(plural) if key[2] not in _ODD]
        return found[which % len(found)] if found else None


Action = Callable[[World, int, int], str | None]
