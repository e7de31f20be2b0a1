"""Whether the resource quotas of a namespace have capacity for pods."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tfjob.k8s import quantity
from tfjob.k8s.quantity import Quantity
from tfjob.local.node.resource_fit import ONE, ZERO, limits_of, requests_of

Json = Mapping[str, Any]

_PODS: Final = frozenset({"pods", "count/pods"})
_SERVICES: Final = frozenset({"services", "count/services"})
_REQUESTS: Final = "requests."
_LIMITS: Final = "limits."


def is_scoped(quota: Json) -> bool:
    """Whether the quota counts only some pods; which ones is not checked here."""
    spec = quota.get("spec") or {}
    return bool(spec.get("scopes") or spec.get("scopeSelector"))


def exceeded(quota: Json, pods: Sequence[Json], *, services: int) -> Iterator[str]:
    """What the pods and services need beyond what the quota has left."""
    status = quota.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    name = (quota.get("metadata") or {}).get("name", "")
    for resource, text in hard.items():
        limit, taken = quantity.parse(text), quantity.parse(used.get(resource, "0"))
        if limit is None or taken is None:
            continue
        needed = _sum(_amount(pod, resource) for pod in pods)
        if resource in _SERVICES:
            needed = Quantity(services * ONE.nano)
        left = max(limit.nano - taken.nano, 0)
        if needed.nano > left:
            room = Quantity(left, limit.form).render()
            yield f"{resource}: it needs {needed.render()}, and quota {name!r} has {room} left"


def _amount(pod: Json, resource: str) -> Quantity:
    if resource in _PODS:
        return ONE
    if resource.startswith(_LIMITS):
        return limits_of(pod).get(resource.removeprefix(_LIMITS), ZERO)
    wanted = resource.removeprefix(_REQUESTS)
    return requests_of(pod).get(wanted, ZERO) if wanted != "pods" else ZERO


def _sum(amounts: Iterable[Quantity]) -> Quantity:
    total = ZERO
    for each in amounts:
        total = total + each
    return total
