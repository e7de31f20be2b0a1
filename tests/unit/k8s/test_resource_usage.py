"""What objects use of each resource."""

from typing import Any

from tfjob.k8s import resource_usage

Json = dict[str, Any]


def pod(*containers: Json, init: tuple[Json, ...] = (), phase: str = "Running") -> Json:
    spec = {
        "containers": [{"resources": each} for each in containers],
        "initContainers": [{"resources": each} for each in init],
    }
    return {"spec": spec, "status": {"phase": phase}}


def used(resource: str, obj: Json) -> dict[str, str]:
    return {
        name: amount.render() for name, amount in resource_usage.usage_of(resource, obj).items()
    }


def test_pod_counts_under_every_name_that_a_quota_may_have_for_it() -> None:
    given = pod({"requests": {"cpu": "500m", "nvidia.com/gpu": "1"}, "limits": {"memory": "1Gi"}})
    assert used("pods", given) == {
        "count/pods": "1",
        "pods": "1",
        "cpu": "500m",
        "memory": "1Gi",
        "requests.cpu": "500m",
        "requests.memory": "1Gi",
        "requests.nvidia.com/gpu": "1",
        "limits.memory": "1Gi",
    }


def test_largest_init_container_counts_if_it_needs_more_than_the_others_together() -> None:
    one = {"requests": {"cpu": "1", "memory": "2Mi"}}
    greedy = {"requests": {"cpu": "3", "memory": "1Mi"}}
    found = resource_usage.of_pod(pod(one, one, init=(greedy,)), "requests")
    assert {name: amount.render() for name, amount in found.items()} == {
        "cpu": "3",
        "memory": "4Mi",
    }


def test_pod_that_has_ended_counts_as_an_object_only() -> None:
    assert used("pods", pod({"requests": {"cpu": "1"}}, phase="Failed")) == {"count/pods": "1"}


def test_claim_uses_the_storage_that_it_requests() -> None:
    claim = {"spec": {"resources": {"requests": {"storage": "5Gi"}}}}
    assert used("persistentvolumeclaims", claim)["requests.storage"] == "5Gi"
    assert used("persistentvolumeclaims", {})["requests.storage"] == "0"


def test_text_that_is_no_quantity_is_left_out() -> None:
    assert resource_usage.parsed({"cpu": "much", "memory": None}) == {}
