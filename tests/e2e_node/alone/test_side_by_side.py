"""The same jobs under our operator and under training-operator 1.9.3, at the same time.

`make e2e ONLY=side_by_side RECORD=1 STARTS=20` records what both do. Without RECORD our operator
gets the jobs alone, and must do what was recorded.
"""

import copy
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest
import yaml

from tests.e2e_node.alone.side_by_side_cases import CASES, FOREVER, Case
from tests.e2e_node.alone.test_control import operator_pods
from tests.support.node import peer
from tests.support.node.client import (
    HOME,
    Cluster,
    Json,
    Namespace,
    is_running,
    tfjob,
    until,
)
from tests.support.node.images import OPERATOR
from tests.support.patience import PATIENCE
from tools.side_by_side import RECORD, ROOT

STARTS = int(os.environ.get("STARTS", "1"))
_RECORDS = bool(os.environ.get("RECORD"))
_SETTLED_SECONDS = 8
"""How long after the end of a job its state is recorded."""
_POLL_SECONDS = 0.05


class Sides(NamedTuple):
    """A namespace that our operator serves, and one that the other serves."""

    ours: Namespace
    theirs: Namespace


@pytest.fixture(scope="module")
def sides(cluster: Cluster) -> Iterator[Sides]:
    """Our operator with its defaults in its own namespace; to record, the other one as well."""
    found = Sides(cluster.new_namespace("ours"), cluster.new_namespace("theirs"))
    ours, theirs = (each.name for each in found)
    try:
        cluster.helm.uninstall(namespace=HOME)
        until("our operator is gone", lambda: not operator_pods(cluster))
        values = (f"image.repository={OPERATOR}", "namespaced.enabled=true")
        cluster.helm.install(*values, namespace=ours, flags=("--wait",))
        if _RECORDS:
            peer.start(cluster, peer.manifests_beside(cluster, theirs), theirs)
        yield found
    finally:
        cluster.helm.uninstall(namespace=ours)
        for each in found:
            each.delete()
        peer.restore(cluster)


@pytest.mark.parametrize("name", CASES)
def test_job_is_treated_as_recorded(sides: Sides, name: str) -> None:
    case = CASES[name]
    try:
        if _RECORDS:
            with ThreadPoolExecutor(1) as thread:
                theirs = thread.submit(their_run, sides.theirs, name, case)
                ours = our_run(sides.ours, name, case)
            record(name, {"ours": ours, "theirs": theirs.result()})
        else:
            our_run(sides.ours, name, case)
    finally:
        for side in sides:
            side.cluster.kubectl("delete", "resourcequota", "--all", "-n", side.name)
            delete_jobs(side)


def our_run(side: Namespace, name: str, case: Case) -> Json:
    """What our operator did, once that is what was recorded."""
    started = time.monotonic()
    configs = create(side, name, case)
    case.act(side, name)
    until(f"{name} is over", lambda: case.is_over(side, name), seconds=max(PATIENCE, case.seconds))
    seconds = time.monotonic() - started
    if _RECORDS:
        settle(side, name)
        return look(side, name, configs) | {"seconds": round(seconds, 1)}
    wanted = certain(recorded()[name]["ours"], case)
    deadline = time.monotonic() + PATIENCE
    while (found := certain(look(side, name, configs), case)) != wanted:
        assert time.monotonic() < deadline, f"{found}\nis not as recorded:\n{wanted}"
        time.sleep(_POLL_SECONDS)
    return found


def certain(found: Json, case: Case) -> Json:
    """What does not depend on how busy the kubelet is: it may leave out a state that passes."""
    events = [each for each in found["events"] if each != "Warning Error"]
    return {field: (found | {"events": events})[field] for field in case.compared}


def their_run(side: Namespace, name: str, case: Case) -> Json:
    """What the other operator did; no seconds if the job did not come to its end in time."""
    started = time.monotonic()
    configs = create(side, name, case)
    seconds = None
    try:
        case.act(side, name)
        until(f"{name} is over", lambda: case.is_over(side, name), seconds=case.seconds)
        seconds = round(time.monotonic() - started, 1)
    except AssertionError:
        if case.is_over(side, name):
            seconds = round(time.monotonic() - started, 1)
    settle(side, name)
    return look(side, name, configs) | {"seconds": seconds}


def settle(side: Namespace, name: str) -> None:
    """Wait until no pod of the job is being deleted, and for a while longer."""
    time.sleep(_SETTLED_SECONDS)
    while _is_ending(side, name):
        until("its pods are deleted", lambda: not _is_ending(side, name))
        time.sleep(_SETTLED_SECONDS)


def _is_ending(side: Namespace, name: str) -> bool:
    own = [pod for each, pod in side.pods().items() if each.startswith(f"{name}-")]
    return any("deletionTimestamp" in pod["metadata"] for pod in own)


def create(side: Namespace, name: str, case: Case) -> dict[str, str]:
    """Create the job; TF_CONFIG of its replicas, as they come."""
    for each in copy.deepcopy(case.before):
        side.create(each)
    job = copy.deepcopy(case.job)
    job["metadata"]["name"] = name
    side.create(job)
    wanted = sum(each.get("replicas", 1) for each in job["spec"]["tfReplicaSpecs"].values())
    if case.before and case.before[0]["kind"] == "ResourceQuota":
        return {}
    return until(f"the pods of {name}", lambda: _configs(side, name, wanted))


def _configs(side: Namespace, name: str, wanted: int) -> dict[str, str] | None:
    """TF_CONFIG by the replica, without the name of the namespace."""
    found = {}
    for pod, body in side.pods().items():
        if pod.startswith(f"{name}-"):
            env = body["spec"]["containers"][0].get("env", [])
            [text] = [each["value"] for each in env if each["name"] == "TF_CONFIG"] or [""]
            found[pod.removeprefix(f"{name}-")] = text.replace(side.name, "NAMESPACE")
    return found if len(found) == wanted else None


def look(side: Namespace, name: str, configs: dict[str, str]) -> Json:
    """What can be seen of a job: conditions, kinds of events, pods that stay, TF_CONFIG."""
    job = side.cluster.found(f"{side.path('tfjobs', 'kubeflow.org/v1')}/{name}") or {}
    conditions = job.get("status", {}).get("conditions") or []
    pods = [each.removeprefix(f"{name}-") for each in side.pods() if each.startswith(f"{name}-")]
    return {
        "conditions": [f"{each['type']}={each['status']} {each['reason']}" for each in conditions],
        "events": sorted({f"{each['type']} {each['reason']}" for each in side.events(name)}),
        "pods": sorted(pods),
        "TF_CONFIG": configs,
    }


def delete_jobs(side: Namespace) -> None:
    """Delete all jobs; returns when their pods are gone."""
    place = ("-n", side.name)
    side.cluster.kubectl("delete", "tfjobs.kubeflow.org", "--all", *place)
    pods = ("-l", "training.kubeflow.org/job-name", "--timeout=110s")
    side.cluster.kubectl("wait", "--for=delete", "pod", *pods, *place)


@pytest.mark.skipif(not _RECORDS, reason="needs both operators: RECORD=1 STARTS=20")
def test_three_replicas_start(sides: Sides) -> None:
    """From `kubectl apply` to the last container, one after the other."""
    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    for number in range(STARTS):
        for which, side in zip(seconds, sides, strict=True):
            seconds[which].append(start_of(side, f"start-{number}"))
    record("starts", seconds)
    assert all(len(each) == STARTS for each in seconds.values())


def start_of(side: Namespace, name: str) -> float:
    job = tfjob({"Worker": (3, FOREVER)}, name=name)
    started = time.monotonic()
    side.cluster.kubectl("apply", "-n", side.name, "-f", "-", text=yaml.safe_dump(job))
    deadline = started + PATIENCE
    while sum(is_running(each) for each in side.pods().values()) < 3:
        assert time.monotonic() < deadline, f"{name} does not start in {side.name}"
        time.sleep(_POLL_SECONDS)
    seconds = time.monotonic() - started
    delete_jobs(side)
    return round(seconds, 2)


def recorded() -> Json:
    found: Json = json.loads((ROOT / RECORD).read_text())
    return found


def record(name: str, found: Json) -> None:
    known = recorded() if (ROOT / RECORD).exists() else {}
    text = json.dumps(known | {name: found}, indent=1, sort_keys=True)
    (ROOT / RECORD).write_text(f"{text}\n")
