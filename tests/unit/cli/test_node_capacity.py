from typing import Any

import pytest

from tfjob.cli.node_capacity import never_fits, read_nodes, waiting_pods

Json = dict[str, Any]


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
def test_pod_that_fits_on_no_node_is_told_why(asked: Json, nodes: list[Json], why: str) -> None:
    found = never_fits(asked, read_nodes(nodes, []))
    assert bool(found) is bool(why)
    assert found is None or why in found.text


def test_the_remedy_is_about_what_repels_the_pod() -> None:
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
def test_taints_are_tolerated_as_the_scheduler_does(toleration: Json, fits: bool) -> None:
    tainted = node(taints=[{"key": "gpu", "value": "a100", "effect": "NoSchedule"}])
    asked = with_spec(pod(), tolerations=[toleration])
    assert (never_fits(asked, read_nodes([tainted], [])) is None) is fits


def test_pods_are_placed_beside_those_that_run_and_each_other() -> None:
    running = [
        pod("old", on="n1", phase="Running", cpu="3"),
        pod("over", on="n2", phase="Failed", cpu="4"),
    ]
    nodes = read_nodes([node(), node("n2")], running)
    asked = [pod(f"w{number}", cpu="2") for number in range(4)]
    assert waiting_pods(asked, nodes) == ["w2", "w3"]
