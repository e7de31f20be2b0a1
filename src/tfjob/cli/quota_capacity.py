"""Whether the resource quotas of a namespace have capacity for pods."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfjob.k8s import quantity
from tfjob.k8s.quantity import Quantity
from tfjob.k8s.resource_usage import ZERO, Amounts, add, usage_of

Json = Mapping[str, Any]


def is_scoped(quota: Json) -> bool:
    """Whether the quota counts only some pods; which ones is not checked here."""
    spec = quota.get("spec") or {}
    return bool(spec.get("scopes") or spec.get("scopeSelector"))


def exceeded(quota: Json, pods: Sequence[Json], *, services: int) -> Iterator[str]:
    """What the pods and services need beyond what the quota has left."""
    status = quota.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    name = (quota.get("metadata") or {}).get("name", "")
    needs = _needs(pods, services)
    for resource, text in hard.items():
        limit, taken = quantity.parse(text), quantity.parse(used.get(resource, "0"))
        if limit is None or taken is None:
            continue
        needed = needs.get(resource, ZERO)
        left = max(limit.nano - taken.nano, 0)
        if needed.nano > left:
            free = Quantity(left, limit.form).render()
            yield f"{resource}: it needs {needed.render()}, and quota {name!r} has {free} left"


def _needs(pods: Sequence[Json], services: int) -> Amounts:
    """What the objects use together, under every name that a quota may have for it."""
    total: Amounts = {}
    of_pods = [usage_of("pods", pod) for pod in pods]
    for used in (*of_pods, *[usage_of("services", {})] * services):
        add(total, used)
    return total
