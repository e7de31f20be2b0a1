"""What every gang scheduler and queue must do, one function per case.

A case starts on an empty ground and returns the seconds of its decisive step.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.schedulers.ground import STEADY, CaseError, Ground

Case = Callable[[Ground], float]


def all_or_nothing(ground: Ground) -> float:
    """Three of four pods fit: no pod gets a node, and the job says why, with one warning."""
    ground.add_nodes(3)
    ground.submit("a")
    if not ground.is_told:
        ground.stays("no pod may have a node", lambda: ground.bound("a") == 0)
        return STEADY
    took = ground.wait("a diagnosis", lambda: ground.cause("a") != "")
    ground.stays("no pod may have a node", lambda: ground.bound("a") == 0)
    _expect(ground.cause("a") in WAITS, f"unexpected cause: {ground.message('a')}")
    # A job that a queue has suspended has a condition that says so.
    if ground.cause("a") != "Suspended":
        ground.wait("a warning", lambda: ground.cause("a") in ground.warnings("a"))
    return took


def node_added(ground: Ground) -> float:
    """Then a fourth node is added: all four pods get nodes."""
    all_or_nothing(ground)
    start = time.monotonic()
    ground.add_nodes(1)
    ground.wait("all four bound", lambda: ground.is_whole("a"))
    return time.monotonic() - start


def waits_quietly(ground: Ground) -> float:
    """While the job waits for 40 s, its status is not written."""
    all_or_nothing(ground)
    version = ground.job("a")["metadata"]["resourceVersion"]
    ground.stays(
        "a job that waits must not be written",
        lambda: ground.job("a")["metadata"]["resourceVersion"] == version,
        seconds=40,
    )
    return 40


def unknown_queue(ground: Ground) -> float:
    """The job is in a queue that does not exist: it says that no scheduler takes it up."""
    ground.add_nodes(4)
    ground.submit("a", queue="nosuch")
    took = ground.wait("a diagnosis", lambda: ground.cause("a") == "SchedulerSilent")
    _expect("nosuch" in ground.message("a"), ground.message("a"))
    ground.wait("a warning", lambda: "SchedulerSilent" in ground.warnings("a"))
    return took


def one_place(ground: Ground) -> float:
    """Two gangs, nodes for one: one has all its pods, the other none; later the other has all."""
    ground.add_nodes(4)
    ground.submit("a")
    ground.submit("b")
    ground.wait("one whole", lambda: 4 in (ground.bound("a"), ground.bound("b")))
    ground.stays(
        "the other may hold no node", lambda: {ground.bound("a"), ground.bound("b")} == {0, 4}
    )
    first, second = ("a", "b") if ground.bound("a") else ("b", "a")
    start = time.monotonic()
    ground.delete(first)
    ground.wait("the other whole", lambda: ground.is_whole(second))
    return time.monotonic() - start


def member_restarts(ground: Ground) -> float:
    """A pod is killed: it is replaced, and the other pods and the PodGroup stay."""
    ground.add_nodes(4)
    ground.submit("a")
    ground.wait("all running", lambda: _running(ground, "a") == 4)
    before = _uids(ground, "a")
    groups = [group["metadata"]["uid"] for group in ground.groups()]
    start = time.monotonic()
    lost = ground.fail_pod("a", 2)

    def is_back() -> bool:
        now = _uids(ground, "a")
        return ground.is_whole("a") and lost not in now and len(now & before) == 3

    ground.wait("the member back", is_back)
    took = time.monotonic() - start
    _expect([each["metadata"]["uid"] for each in ground.groups()] == groups, "the group changed")
    return took


def suspended(ground: Ground) -> float:
    """A suspended job holds no node; when it is resumed, all its pods run again."""
    ground.add_nodes(4)
    ground.submit("a")
    ground.wait("all bound", lambda: ground.is_whole("a"))
    ground.suspend("a", is_suspended=True)
    ground.wait("nothing held", lambda: not (ground.pods("a") or ground.groups()))
    start = time.monotonic()
    ground.suspend("a", is_suspended=False)
    ground.wait("whole again", lambda: ground.is_whole("a"))
    return time.monotonic() - start


def scaled(ground: Ground) -> float:
    """Five workers instead of four without a free node: a failed pod can still be replaced. Then a
    node is added; then there are three workers."""
    ground.add_nodes(4)
    ground.submit("a")
    return _scale_up_and_down(ground, ground.scale)


def dynamic(ground: Ground) -> float:
    """The same with `enableDynamicWorker` and `kubectl scale`."""
    ground.add_nodes(4)
    ground.submit("a", is_dynamic=True)
    return _scale_up_and_down(ground, ground.scale_as_kubectl)


def _scale_up_and_down(ground: Ground, scale: Callable[[str, int], None]) -> float:
    ground.wait("all running", lambda: _running(ground, "a") == 4)
    scale("a", 5)
    ground.wait("a fifth pod", lambda: len(ground.pods("a")) == 5)
    lost = ground.fail_pod("a", 1)
    ground.wait(
        "the member back", lambda: lost not in _uids(ground, "a") and ground.bound("a") == 4
    )
    start = time.monotonic()
    ground.add_nodes(1)
    ground.wait("five bound", lambda: ground.is_whole("a", 5))
    took = time.monotonic() - start
    scale("a", 3)
    ground.wait("three left", lambda: ground.is_whole("a", 3))
    lost = ground.fail_pod("a", 1)
    ground.wait(
        "a member of three back", lambda: lost not in _uids(ground, "a") and ground.is_whole("a", 3)
    )
    return took


def requeued_by_scale(ground: Ground) -> float:
    """A queue admits a job again when its size changes, by `kubectl scale` of dynamic workers: to
    three, then to five, which do not fit; no part of the job stays."""
    ground.add_nodes(4)
    ground.submit("a", is_dynamic=True)
    ground.wait("all bound", lambda: ground.is_whole("a"))
    start = time.monotonic()
    ground.scale_as_kubectl("a", 3)
    ground.wait("three bound", lambda: ground.is_whole("a", 3))
    took = time.monotonic() - start
    ground.scale_as_kubectl("a", 5)
    ground.wait("nothing held", lambda: ground.bound("a") == 0)
    ground.stays("no half of it may start", lambda: ground.bound("a") == 0)
    ground.add_nodes(1)
    ground.wait("five bound", lambda: ground.is_whole("a", 5))
    return took


def priority(ground: Ground) -> float:
    """A gang of higher priority replaces a whole gang of lower priority."""
    return _preempt(ground, low={"priority": "low"}, high={"priority": "high"})


def priority_by_pod(ground: Ground) -> float:
    """A gang of higher priority that sets `minResources: {cpu: "0"}` takes the place of a lower
    one. The scheduler preempts for one pod after the other, not for the gang."""
    high = {"priority": "high", "min_resources": {"cpu": "0"}}
    return _preempt(ground, low={"priority": "low"}, high=high)


def queue_priority(ground: Ground) -> float:
    """A job of higher priority replaces a whole job of lower priority in the same queue."""
    return _preempt(ground, low={"pod_priority": "low"}, high={"pod_priority": "high"})


def _preempt(ground: Ground, *, low: Mapping[str, Any], high: Mapping[str, Any]) -> float:
    ground.add_nodes(4)
    ground.submit("low", **low)
    ground.wait("the low one whole", lambda: ground.is_whole("low"))
    ground.submit("high", **high)
    took = ground.wait("the high one whole", lambda: ground.is_whole("high"))
    ground.stays("the low one may hold no node", lambda: ground.bound("low") == 0)
    return took


def evicted(ground: Ground) -> float:
    """The queue stops the job and admits it again, 20 times; no restart is counted."""
    ground.add_nodes(4)
    ground.submit("a")
    ground.wait("all running", lambda: _running(ground, "a") == 4)
    start = time.monotonic()
    for _ in range(20):
        before = _uids(ground, "a")
        ground.activate_workloads(is_active=False)
        ground.wait("no pod on a node", lambda: ground.bound("a") == 0)
        ground.activate_workloads(is_active=True)

        def is_back(before: set[str] = before) -> bool:
            return (
                not _uids(ground, "a") & before
                and _running(ground, "a") == 4
                and ground.is_whole("a")
            )

        ground.wait("whole again", is_back)
    status = ground.job("a")["status"]
    restarts = status["replicaStatuses"]["Worker"].get("restarts", 0)
    _expect(restarts == 0, f"{restarts} restarts counted")
    ended = [each["type"] for each in status["conditions"] if each["status"] == "True"]
    _expect("Failed" not in ended, f"the job has failed: {ended}")
    return (time.monotonic() - start) / 20


def deleted(ground: Ground) -> float:
    """A deleted job leaves neither pods nor groups."""
    ground.add_nodes(4)
    ground.submit("a")
    ground.wait("all bound", lambda: ground.is_whole("a"))
    return ground.clear()


def many(ground: Ground) -> float:
    """50 gangs of 8, and nodes for 20: all end, and none is half placed for more than 30 s."""
    ground.add_nodes(20)
    start = time.monotonic()
    ends = {"kwok.test/exit-after": "5s"}
    names = [f"j{index}" for index in range(50)]
    for name in names:
        ground.submit(name, 8, accelerators=1, pod_annotations=ends)
    partly: dict[str, float] = {}
    while True:
        now, counts = time.monotonic(), dict.fromkeys(names, 0)
        for pod in ground.pods():
            job = pod["metadata"]["labels"]["training.kubeflow.org/job-name"]
            is_over = pod["status"].get("phase") in {"Succeeded", "Failed"}
            counts[job] += 1 if pod["spec"].get("nodeName") or is_over else 0
        for name in names:
            if 0 < counts[name] < 8 and not _has_ended(ground, name):
                partly.setdefault(name, now)
                told = f"{name} is half placed for 30 s, {counts[name]} of 8"
                _expect(now - partly[name] <= 30, told, ground)
            else:
                partly.pop(name, None)
        if not any(counts.values()) and all(_has_ended(ground, name) for name in names):
            return time.monotonic() - start
        _expect(now - start < 900, "not all ended in 900 s", ground)
        time.sleep(1)


def _has_ended(ground: Ground, name: str) -> bool:
    conditions = ground.job(name).get("status", {}).get("conditions") or []
    return any(each["type"] == "Succeeded" and each["status"] == "True" for each in conditions)


def _uids(ground: Ground, name: str) -> set[str]:
    return {pod["metadata"]["uid"] for pod in ground.pods(name)}


def _running(ground: Ground, name: str) -> int:
    return sum(pod["status"].get("phase") == "Running" for pod in ground.pods(name))


def _expect(holds: bool, what: str, ground: Ground | None = None) -> None:
    if not holds:
        raise CaseError(what, "" if ground is None else ground.report())


WAITS: Final = frozenset(
    {
        "GangIncomplete",
        "InsufficientResources",
        "Unschedulable",
        "SchedulerSilent",
        "SchedulingGated",
        "Suspended",
        "NoMatchingNode",
    }
)
"""Causes of a gang that waits for resources or for its queue."""
CASES: Final[Mapping[str, Case]] = {
    "all-or-nothing": all_or_nothing,
    "node-added": node_added,
    "waits-quietly": waits_quietly,
    "one-place": one_place,
    "member-restarts": member_restarts,
    "suspended": suspended,
    "scaled": scaled,
    "dynamic": dynamic,
    "priority": priority,
    "deleted": deleted,
    "many": many,
}
PLUGINS_CASES: Final[Mapping[str, Case]] = {**CASES, "priority-by-pod": priority_by_pod}
VOLCANO_CASES: Final[Mapping[str, Case]] = {**CASES, "unknown-queue": unknown_queue}
QUEUE_CASES: Final[Mapping[str, Case]] = {
    "all-or-nothing": all_or_nothing,
    "node-added": node_added,
    "waits-quietly": waits_quietly,
    "one-place": one_place,
    "member-restarts": member_restarts,
    "suspended": suspended,
    "requeued": requeued_by_scale,
    "priority": queue_priority,
    "deleted": deleted,
    "many": many,
    "evicted": evicted,
}
"""The quota of a queue follows the nodes."""
PEER_CASES: Final[Mapping[str, Case]] = {
    name: case for name, case in CASES.items() if name not in {"dynamic", "priority"}
}
PEER_QUEUE_CASES: Final[Mapping[str, Case]] = {
    name: case for name, case in QUEUE_CASES.items() if name != "requeued"
}
"""Its definition has no subresource for `kubectl scale`."""
