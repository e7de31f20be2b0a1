from pathlib import Path
from typing import Any

import pytest

from tfjob.cli.capacity import never_fits, read_nodes, waiting_pods, waiting_remedy
from tfjob.local.node.machine import NodeSettings, node_object
from tfjob.local.node.overcommit import Overcommit

Json = dict[str, Any]
NOTHING, GPUS, ALL = Overcommit(), Overcommit(gpus=True), Overcommit(requests=True)


def local_node(folder: Path, overcommit: Overcommit) -> Json:
    settings = NodeSettings(
        data=folder,
        workdir=folder,
        allocatable={"cpu": "4", "pods": "9", "nvidia.com/gpu": "1"},
        overcommit=overcommit,
    )
    return node_object(settings, now="2026-11-17T02:50:51Z")


def node(name: str = "n1", *, cpu: str = "4", gpus: str = "0", **more: Any) -> Json:
    allocatable = {"cpu": cpu, "memory": "8Gi", "nvidia.com/gpu": gpus, "pods": "110"}
    ready = {"type": "Ready", "status": more.pop("ready", "True")}
    labels = more.pop("labels", {})
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": more,
        "status": {"allocatable": allocatable, "conditions": [ready]},
    }


def pod(name: str = "p", *, on: str = "", phase: str = "Pending", **requests: str) -> Json:
    named = {key.replace("gpu", "nvidia.com/gpu"): text for key, text in requests.items()}
    container = {"name": "tensorflow", "resources": {"requests": named}}
    spec = {"containers": [container], "nodeName": on}
    return {"metadata": {"name": name}, "spec": spec, "status": {"phase": phase}}


def with_spec(given: Json, **more: Any) -> Json:
    return {**given, "spec": {**given["spec"], **more}}


@pytest.mark.parametrize(
    ("asked", "nodes", "why"),
    [
        (pod(cpu="4"), [node()], ""),
        (pod(gpu="8"), [node(gpus="4"), node("n2")], "8 nvidia.com/gpu of one node"),
        (pod(cpu="8", gpu="1"), [node(gpus="1"), node("n2", cpu="9")], "no single node has all"),
        (pod(cpu="1"), [node(unschedulable=True)], "no node is ready and schedulable"),
        (pod(cpu="1"), [node(ready="False")], "no node is ready and schedulable"),
        (with_spec(pod(), nodeSelector={"zone": "a"}), [node()], "nodeSelector: zone=a"),
        (with_spec(pod(), nodeSelector={"zone": "a"}), [node(labels={"zone": "a"})], ""),
        (pod(), [node(taints=[{"key": "gpu", "effect": "NoSchedule"}])], "does not tolerate"),
        (pod(), [node(taints=[{"key": "gpu", "effect": "PreferNoSchedule"}])], ""),
    ],
)  # fmt: skip
def test_a_pod_that_fits_on_no_node_is_reported_with_the_reason(
    asked: Json, nodes: list[Json], why: str
) -> None:
    found = never_fits(asked, read_nodes(nodes, []))
    assert bool(found) is bool(why)
    assert found is None or why in found.text


def test_the_remedy_matches_the_reason_why_no_node_fits() -> None:
    tainted = node(taints=[{"key": "gpu", "effect": "NoSchedule"}])
    selecting = with_spec(pod(), nodeSelector={"zone": "a"})
    found = [
        never_fits(pod(cpu="64"), read_nodes([node()], [])),
        never_fits(selecting, read_nodes([node()], [])),
        never_fits(pod(), read_nodes([tainted], [])),
    ]
    assert [each.remedy for each in found if each is not None] == [
        "request less, or add a larger node",
        "correct the nodeSelector of the template, or label a node",
        "add tolerations to the template, or remove the taints",
    ]


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "value": "a100"}, True),
        ({"key": "gpu", "value": "h100"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_tolerations_match_taints_as_in_the_scheduler(toleration: Json, fits: bool) -> None:
    tainted = node(taints=[{"key": "gpu", "value": "a100", "effect": "NoSchedule"}])
    asked = with_spec(pod(), tolerations=[toleration])
    assert (never_fits(asked, read_nodes([tainted], [])) is None) is fits


def test_running_pods_and_pods_placed_before_reduce_the_free_capacity() -> None:
    running = [
        pod("old", on="n1", phase="Running", cpu="3"),
        pod("over", on="n2", phase="Failed", cpu="4"),
    ]
    nodes = read_nodes([node(), node("n2")], running)
    asked = [pod(f"w{number}", cpu="2") for number in range(4)]
    assert waiting_pods(asked, nodes) == ["w2", "w3"]


@pytest.mark.parametrize(
    ("overcommit", "waiting"), [(NOTHING, ["c1", "g1"]), (GPUS, ["c1"]), (ALL, [])]
)
def test_pods_do_not_wait_for_resources_that_a_local_node_shares(
    tmp_path: Path, overcommit: Overcommit, waiting: list[str]
) -> None:
    asked = [pod(name, cpu="3") for name in ("c0", "c1")] + [
        pod(name, gpu="1") for name in ("g0", "g1")
    ]
    nodes = read_nodes([local_node(tmp_path, overcommit)], [])
    assert waiting_pods(asked, nodes) == waiting
    assert (never_fits(pod(cpu="5"), nodes) is None) == overcommit.requests


def test_the_remedy_on_a_local_node_is_the_flag_fit(tmp_path: Path) -> None:
    local, real = read_nodes([local_node(tmp_path, NOTHING)], []), read_nodes([node()], [])
    assert "--fit starts all at once" in waiting_remedy(local)
    assert waiting_remedy(real) == "wait until other pods end, or add nodes"
    large = never_fits(pod(cpu="5"), local)
    assert large is not None
    assert large.remedy == "request less, or start the local cluster with --fit"
