"""Does a pod fit on this node, and if not, what would the scheduler say?

Its law: the sum of what the pods on the node ask for never exceeds what the node has. A pod asks
for the sum of its containers, or for its greediest init container if that is more. It must not
know how big the machine really is, nor which pods exist.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tfjob.k8s import quantity
from tfjob.k8s.quantity import Quantity

Json = Mapping[str, Any]
GPU = "nvidia.com/gpu"
ZERO = Quantity(0)


def requests_of(pod: Json) -> dict[str, Quantity]:
    """What the pod needs to be placed, `pods` included; what it limits it also asks for."""
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
    """What these pods ask for together, on top of what was asked for before."""
    total = dict(before or {})
    for pod in pods:
        _add(total, requests_of(pod))
    return total


def shortages(
    pod: Json, *, used: Mapping[str, Quantity], allocatable: Mapping[str, Quantity]
) -> tuple[str, ...]:
    """The resources of which there is too little for this pod; empty when it fits."""
    short = []
    for name, amount in requests_of(pod).items():
        free = allocatable.get(name, ZERO).nano - used.get(name, ZERO).nano
        if amount.nano > 0 and amount.nano > free:
            short.append(name)
    return tuple(sorted(short))


def never_fits(pod: Json, *, allocatable: Mapping[str, Quantity]) -> bool:
    """Whether the pod would not even fit on the empty node."""
    return bool(shortages(pod, used={}, allocatable=allocatable))


def unschedulable_message(short: Iterable[str], *, never_fits: bool) -> str:
    """The sentence of kube-scheduler for one node."""
    words = ["Too many pods" if name == "pods" else f"Insufficient {name}" for name in short]
    why = ", ".join(f"1 {word}" for word in words)
    preemption = (
        "Preemption is not helpful for scheduling"
        if never_fits
        else "No preemption victims found for incoming pod"
    )
    return f"0/1 nodes are available: {why}. preemption: 0/1 nodes are available: 1 {preemption}."


def gpus_of(container: Json) -> int:
    """The number of GPUs the container asks for."""
    asked = _requests(container).get(GPU, ZERO)
    return asked.rounded_up()


def memory_limit(container: Json) -> int | None:
    """Bytes; None without a limit."""
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
