"""What the real kubelet reports about a pod, situation by situation, is what was recorded.

`make e2e ONLY=timelines RECORD=1` writes the record anew.
"""

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPResponse

import pytest

from tests.support.fake_kubelet.timeline import GONE, RECORDED, look, recorded
from tests.support.node.client import Json, Namespace, is_running, pod_spec, until
from tests.support.node.machine import folders

Act = Callable[[Namespace], None]


def pod(*words: str, policy: str = "Never", **more: object) -> Json:
    spec = pod_spec(*words) | {"restartPolicy": policy, "terminationGracePeriodSeconds": 3} | more
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def with_image(body: Json, image: str) -> Json:
    body["spec"]["containers"][0]["image"] = image
    return body


def with_memory(body: Json, limit: str) -> Json:
    body["spec"]["containers"][0]["resources"] = {"limits": {"memory": limit}}
    return body


def with_command(body: Json, command: str) -> Json:
    body["spec"]["containers"][0]["command"] = [command]
    return body


def with_sidecar(body: Json) -> Json:
    [own] = pod_spec()["containers"]
    body["spec"]["containers"].append({**own, "name": "sidecar"})
    return body


def with_native_sidecar(body: Json) -> Json:
    [own] = pod_spec()["containers"]
    body["spec"]["initContainers"] = [{**own, "name": "sidecar", "restartPolicy": "Always"}]
    return body


def nothing(namespace: Namespace) -> None:
    """The pod ends by itself."""


def delete(namespace: Namespace) -> None:
    until("it runs", lambda: is_running(namespace.pod("p")))
    namespace.delete_pod("p")


def delete_at_once(namespace: Namespace) -> None:
    until("it is seen by the kubelet", lambda: "containerStatuses" in _status(namespace))
    namespace.delete_pod("p")


def delete_when_unschedulable(namespace: Namespace) -> None:
    until("no node fits", lambda: "Unschedulable" in str(_status(namespace)))
    namespace.delete_pod("p")


def delete_when_over(namespace: Namespace) -> None:
    until("it is over", lambda: _status(namespace).get("phase") == "Succeeded")
    namespace.delete_pod("p")


def evict(namespace: Namespace) -> None:
    until("it runs", lambda: is_running(namespace.pod("p")))
    namespace.evict("p")


def _status(namespace: Namespace) -> Json:
    found: Json = (namespace.pod("p") or {"status": {}})["status"]
    return found


# What is made, what is done to it, and the last line.
SITUATIONS: dict[str, tuple[Json, Act, str]] = {
    "succeeds": (pod("--seconds", "1"), nothing, "Succeeded"),
    "fails": (pod("--seconds", "1", "--exit", "3"), nothing, "Failed"),
    "succeeds under OnFailure": (
        pod("--seconds", "1", policy="OnFailure"),
        nothing,
        "Succeeded",
    ),
    "restarts in place": (
        pod("--seconds", "1", "--exit", "1", policy="OnFailure"),
        nothing,
        "restarts 2",
    ),
    "restarts after success under Always": (
        pod("--seconds", "1", policy="Always"),
        nothing,
        "restarts 2",
    ),
    "deleted, exits 0": (pod("--on-term", "0"), delete, GONE),
    "deleted, exits 1": (pod("--on-term", "1"), delete, GONE),
    "deleted, exits 143": (pod("--on-term", "143"), delete, GONE),
    "deleted, ignores SIGTERM": (pod("--ignore-term"), delete, GONE),
    "deleted under OnFailure, exits 1": (
        pod("--on-term", "1", policy="OnFailure"),
        delete,
        GONE,
    ),
    "deleted after its end": (pod("--seconds", "1"), delete_when_over, GONE),
    "evicted, exits 0": (pod("--on-term", "0"), evict, GONE),
    "evicted, exits 143": (pod("--on-term", "143"), evict, GONE),
    "evicted, ignores SIGTERM": (pod("--ignore-term"), evict, GONE),
    "has no image": (
        with_image(pod(), "nowhere.invalid/missing:1"),
        delete_at_once,
        GONE,
    ),
    "fits no node": (pod(nodeSelector={"no": "node"}), delete_when_unschedulable, GONE),
    "runs out of memory": (with_memory(pod("--fill", "500"), "64Mi"), nothing, "Failed"),
    "has a command that does not exist": (with_command(pod(), "/absent"), nothing, "Failed"),
    "ends while a sidecar goes on": (
        with_sidecar(pod("--seconds", "1")),
        nothing,
        "Running, running, terminated 0",
    ),
    "ends beside a native sidecar": (
        with_native_sidecar(pod("--seconds", "1")),
        nothing,
        "Succeeded",
    ),
    "exceeds its own deadline": (pod(activeDeadlineSeconds=3), nothing, "Failed"),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_kubelet_reports_what_was_recorded(bare_namespace: Namespace, situation: str) -> None:
    namespace = bare_namespace
    body, act, last = SITUATIONS[situation]
    lines: list[str] = []
    with watched(namespace, lines):
        namespace.create(body)
        act(namespace)
        until(f"{last} after {lines}", lambda: any(_is_last(line, last) for line in lines))
    if os.environ.get("RECORD"):
        record(situation, lines)
    assert is_part(certain(lines), certain(recorded()[situation]))


def _is_last(line: str, last: str) -> bool:
    return line.startswith(last) or line.endswith(last)


def certain(lines: list[str]) -> list[str]:
    """The lines that do not depend on how busy the node is.

    How often a pod that waits is reported depends on how long it waits. A kubelet may report an
    ended container with or before the phase, and containerd an end before it learns the reason.
    """
    told = [line.replace(", OOMKilled", "") for line in lines if not line.startswith("Pending")]
    pairs = zip(told, [*told[1:], ""], strict=True)
    return [line for line, after in pairs if not _differs_in_phase(line, after)]


def _differs_in_phase(line: str, after: str) -> bool:
    rest = line.removeprefix("Running, ")
    return rest.startswith("terminated") and after.partition(", ")[2] == rest


def is_part(lines: list[str], whole: list[str]) -> bool:
    """Whether all lines are in the record, in its order; a busy kubelet may leave some out."""
    rest = iter(whole)
    return all(line in rest for line in lines)


@contextmanager
def watched(namespace: Namespace, lines: list[str]) -> Iterator[None]:
    """Collect one line for each change of the namespace's pods."""
    endpoint = namespace.cluster.endpoint
    connection = endpoint._connection(600)
    query = f"{namespace.path('pods')}?watch=true&timeoutSeconds=300"
    connection.request("GET", query, headers=endpoint.headers())
    response = connection.getresponse()
    reader = threading.Thread(target=_read, args=(response, lines), daemon=True)
    reader.start()
    try:
        yield
    finally:
        if connection.sock is not None:
            connection.sock.shutdown(2)
        reader.join(10)
        connection.close()


def _read(response: HTTPResponse, lines: list[str]) -> None:
    try:
        for raw in response:
            change = json.loads(raw)
            line = GONE if change["type"] == "DELETED" else look(change["object"])
            if not lines or lines[-1] != line:
                lines.append(line)
    except (OSError, ValueError):
        return  # the test has seen enough


def record(situation: str, lines: list[str]) -> None:
    with (folders().run / "record.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = recorded() if RECORDED.exists() else {}
        known[situation] = lines
        ordered = {name: known[name] for name in SITUATIONS if name in known}
        RECORDED.write_text(json.dumps(ordered, indent=2) + "\n")
