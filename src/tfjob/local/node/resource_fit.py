"""Whether a pod fits on this node, and the scheduler's message if it does not.

The requests of all pods never exceed the allocatable resources.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tfjob.k8s import resource_usage
from tfjob.k8s.quantity import Quantity
from tfjob.k8s.resource_usage import ONE, ZERO, Amounts

Json = Mapping[str, Any]
GPU = "nvidia.com/gpu"


def requests_of(pod: Json) -> Amounts:
    """The pod's requests, `pods` and overhead included."""
    total = {"pods": ONE} | resource_usage.of_pod(pod, "requests")
    overhead = (pod.get("spec") or {}).get("overhead")
    resource_usage.add(total, resource_usage.parsed(overhead))
    return total


def sum_of(pods: Iterable[Json], before: Mapping[str, Quantity] | None = None) -> Amounts:
    """The requests of these pods, added to `before`."""
    total = dict(before or {})
    for pod in pods:
        resource_usage.add(total, requests_of(pod))
    return total


def shortages(
    pod: Json, *, used: Mapping[str, Quantity], allocatable: Mapping[str, Quantity]
) -> tuple[str, ...]:
    """The resources that are insufficient for this pod; empty when it fits."""
    short = []
    for name, amount in requests_of(pod).items():
        free = allocatable.get(name, ZERO).nano - used.get(name, ZERO).nano
        if amount.nano > 0 and amount.nano > free:
            short.append(name)
    return tuple(sorted(short))


def never_fits(pod: Json, *, allocatable: Mapping[str, Quantity]) -> bool:
    """Whether the pod does not fit even on the empty node."""
    return bool(shortages(pod, used={}, allocatable=allocatable))


def unschedulable_message(short: Iterable[str], *, never_fits: bool) -> str:
    """kube-scheduler's message for a single node."""
    words = ["Too many pods" if name == "pods" else f"Insufficient {name}" for name in short]
    why = ", ".join(f"1 {word}" for word in words)
    preemption = (
        "Preemption is not helpful for scheduling"
        if never_fits
        else "No preemption victims found for incoming pod"
    )
    return f"0/1 nodes are available: {why}. preemption: 0/1 nodes are available: 1 {preemption}."


def gpus_of(container: Json) -> int:
    """The number of GPUs that the container requests."""
    return resource_usage.of_container(container, "requests").get(GPU, ZERO).rounded_up()


def memory_limit(container: Json) -> int | None:
    """The memory limit in bytes; None without one."""
    limits = resource_usage.of_container(container, "limits")
    return limits["memory"].rounded_up() if "memory" in limits else None
