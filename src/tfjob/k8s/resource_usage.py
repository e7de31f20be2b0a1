"""How much of each resource a container, a pod or another object uses.

A limit without a request is also the request. A pod uses the sum of its containers, or its largest
init container if that is more.
"""

from collections.abc import Mapping
from typing import Any, Literal

from tfjob.k8s import quantity
from tfjob.k8s.quantity import Quantity

Json = Mapping[str, Any]
Amounts = dict[str, Quantity]
Way = Literal["requests", "limits"]
ZERO = Quantity(0)
ONE = Quantity(10**9)
COUNTED = frozenset(
    {"configmaps", "persistentvolumeclaims", "pods", "resourcequotas", "secrets", "services"}
)
"""Resources whose objects a quota may count without `count/`."""
SHORT = ("cpu", "memory", "ephemeral-storage")
"""Resources that a quota may name without `requests.`."""
_ENDED = frozenset({"Succeeded", "Failed"})


def parsed(given: Json | None) -> Amounts:
    """The quantities of a resource list; values that are not quantities are skipped."""
    found = {name: quantity.parse(text) for name, text in (given or {}).items()}
    return {name: amount for name, amount in found.items() if amount is not None}


def add(total: Amounts, more: Mapping[str, Quantity]) -> None:
    """Add amounts to a total, in place."""
    for name, amount in more.items():
        total[name] = total.get(name, ZERO) + amount


def of_container(container: Json, way: Way) -> Amounts:
    resources: Json = container.get("resources") or {}
    defaults = (resources.get("limits") or {}) if way == "requests" else {}
    return parsed({**defaults, **(resources.get(way) or {})})


def of_pod(pod: Json, way: Way) -> Amounts:
    spec = pod.get("spec") or {}
    total: Amounts = {}
    for container in spec.get("containers") or ():
        add(total, of_container(container, way))
    for container in spec.get("initContainers") or ():
        for name, amount in of_container(container, way).items():
            total[name] = max(total.get(name, ZERO), amount)
    return total


def usage_of(resource: str, obj: Json) -> Amounts:
    """What one object uses, under every name that a quota may have for it."""
    found = {f"count/{resource}": ONE}
    if resource in COUNTED and not (resource == "pods" and _has_ended(obj)):
        found[resource] = ONE
    if resource == "pods" and not _has_ended(obj):
        found |= _named("limits", of_pod(obj, "limits"))
        requests = of_pod(obj, "requests")
        found |= _named("requests", requests)
        found |= {name: amount for name, amount in requests.items() if name in SHORT}
    if resource == "persistentvolumeclaims":
        resources: Json = (obj.get("spec") or {}).get("resources") or {}
        found["requests.storage"] = parsed(resources.get("requests")).get("storage", ZERO)
    return found


def _named(way: Way, amounts: Amounts) -> Amounts:
    return {f"{way}.{name}": amount for name, amount in amounts.items()}


def _has_ended(pod: Json) -> bool:
    return (pod.get("status") or {}).get("phase") in _ENDED
