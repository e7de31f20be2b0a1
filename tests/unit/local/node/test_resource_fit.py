"""Whether a pod fits, and the message if it does not."""

from typing import Any

import pytest

from tfjob.k8s import quantity
from tfjob.k8s.quantity import Quantity
from tfjob.local.node.resource_fit import (
    gpus_of,
    memory_limit,
    never_fits,
    requests_of,
    shortages,
    sum_of,
    unschedulable_message,
)


def amounts(**texts: str) -> dict[str, Quantity]:
    names = {"gpu": "nvidia.com/gpu", "disk": "ephemeral-storage"}
    parsed = {names.get(name, name): quantity.parse(text) for name, text in texts.items()}
    return {name: amount for name, amount in parsed.items() if amount is not None}


NODE = amounts(cpu="2", memory="4Gi", gpu="1", disk="10Gi", pods="110")


def container(**requests: str) -> dict[str, Any]:
    texts = {name: amount.render() for name, amount in amounts(**requests).items()}
    return {"name": "c", "resources": {"requests": texts}}


def pod(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {"spec": {"containers": list(containers), "initContainers": list(init)}}


def rendered(one: dict[str, Any]) -> dict[str, str]:
    return {name: amount.render() for name, amount in requests_of(one).items() if name != "pods"}


def test_a_pod_requests_the_sum_of_its_containers() -> None:
    assert rendered(pod(container(cpu="500m"), container(cpu="1"))) == {"cpu": "1500m"}


def test_an_init_container_that_requests_more_counts_instead() -> None:
    greedy = container(cpu="2", memory="1Mi")
    asked = rendered(pod(container(cpu="1", memory="2Mi"), init=(greedy,)))
    assert asked == {"cpu": "2", "memory": "2Mi"}


def test_a_limit_without_a_request_is_the_request() -> None:
    limited = {"resources": {"limits": {"memory": "1Gi"}}}
    assert rendered(pod(limited)) == {"memory": "1Gi"}
    assert memory_limit(limited) == 1 << 30
    assert memory_limit({}) is None


def test_a_pod_without_requests_always_fits() -> None:
    crowd = sum_of([pod(container(cpu="2", memory="4Gi"))])
    assert shortages(pod({}), used=crowd, allocatable=NODE) == ()


def test_resources_in_use_are_not_free() -> None:
    one = pod(container(cpu="1500m"))
    assert shortages(one, used={}, allocatable=NODE) == ()
    assert shortages(one, used=sum_of([one]), allocatable=NODE) == ("cpu",)
    assert not never_fits(one, allocatable=NODE)


@pytest.mark.parametrize(
    ("requests", "short"),
    [
        ({"cpu": "3", "memory": "5Gi"}, ("cpu", "memory")),
        ({"gpu": "2"}, ("nvidia.com/gpu",)),
        ({"disk": "11Gi"}, ("ephemeral-storage",)),
        ({"amd.com/gpu": "1"}, ("amd.com/gpu",)),
        ({"cpu": "2"}, ()),
    ],
)
def test_each_shortage_is_named(requests: dict[str, str], short: tuple[str, ...]) -> None:
    assert shortages(pod(container(**requests)), used={}, allocatable=NODE) == short


def test_the_number_of_pods_is_limited() -> None:
    full = sum_of([pod({})] * 110)
    assert shortages(pod({}), used=full, allocatable=NODE) == ("pods",)


def test_the_message_is_that_of_the_scheduler() -> None:
    assert unschedulable_message(("cpu", "pods"), never_fits=False) == (
        "0/1 nodes are available: 1 Insufficient cpu, 1 Too many pods. preemption: 0/1 nodes are "
        "available: 1 No preemption victims found for incoming pod."
    )
    assert unschedulable_message(("nvidia.com/gpu",), never_fits=True) == (
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are "
        "available: 1 Preemption is not helpful for scheduling."
    )


def test_gpus_are_counted_by_container() -> None:
    assert gpus_of({"resources": {"limits": {"nvidia.com/gpu": 2}}}) == 2
    assert gpus_of({}) == 0
