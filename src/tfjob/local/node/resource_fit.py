"""Whether a pod fits on this node, and the scheduler's message if it does not.

The requests of all pods never exceed the allocatable resources. A pod requests the sum of its
containers, or its largest init container if that is more.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tfjob.k8s import quantity
from tfjob.k8s.quantity import Quantity

Json = Mapping[str, Any]
GPU = "nvidia.com/gpu"
ZERO = Quantity(0)


def requests_of(pod: Json) -> dict[str, Quantity]:
    """The pod's requests, `pods` included; a limit without a request counts as one."""
    spec = pod.get("spec") or {}
    total: dict[str, Quantity] = {"pods": Quantity(10**9)}
    for container in spec.get("containers") or ():
        _add(total, _requests(container))
    for container in spec.get("initContainers") or ():
        for name, amount in _requests(container).items():
            total[name] = max(total.get(name, ZERO), amount, key=lambda one: one.nano)
    _add(total, _amounts(spec.get("overhead") or {}))
    return total


def sum_of(
    pods: Iterable[Json], before: Mapping[str, Quantity] | None = None
) -> dict[str, Quantity]:
    """The requests of these pods, added to `before`."""
    total = dict(before or {})
    for pod in pods:
        _add(total, requests_of(pod))
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
    asked = _requests(container).get(GPU, ZERO)
    return asked.rounded_up()


def memory_limit(container: Json) -> int | None:
    """The memory limit in bytes; None without one."""
    limits = _amounts((container.get("resources") or {}).get("limits") or {})
    return limits["memory"].rounded_up() if "memory" in limits else None


def _requests(container: Json) -> dict[str, Quantity]:
    resources = container.get("resources") or {}
    return _amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _amounts(resources: Json) -> dict[str, Quantity]:
    parsed = {name: quantity.parse(text) for name, text in resources.items()}
    return {name: amount for name, amount in parsed.items() if amount is not None}


def _add(total: dict[str, Quantity], more: Mapping[str, Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, ZERO) + amount
