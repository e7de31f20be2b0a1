"""Whether a cluster has capacity for pods: its nodes, ever and now, and the quotas of a namespace.

For nodes it considers requests, node selectors and taints. Affinity, topology and preemption are
left to the scheduler.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from tfjob.k8s import quantity
from tfjob.k8s.quantity import Quantity
from tfjob.k8s.resource_usage import ZERO, Amounts, add, usage_of
from tfjob.local.node.overcommit import Overcommit, of_annotations
from tfjob.local.node.resource_fit import requests_of, sum_of

Json = Mapping[str, Any]

_REPELLING: Final = frozenset({"NoSchedule", "NoExecute"})
_ENDED: Final = frozenset({"Succeeded", "Failed"})


class Node(msgspec.Struct, frozen=True):
    """A node with its free resources; only a local one can have an overcommit."""

    name: str
    labels: Mapping[str, str]
    taints: Sequence[Json]
    allocatable: Mapping[str, Quantity]
    used: Mapping[str, Quantity]
    overcommit: Overcommit | None = None

    def shortages(self, pod: Json, used: Mapping[str, Quantity]) -> tuple[str, ...]:
        """The resources that are insufficient for the pod if so much is used."""
        policy = self.overcommit or Overcommit()
        return policy.shortages(pod, used=used, allocatable=self.allocatable)


def read_nodes(nodes: Iterable[Json], pods: Iterable[Json]) -> list[Node]:
    """The nodes that accept pods, with what the given pods use of them."""
    by_node: dict[str, list[Json]] = {}
    for pod in pods:
        if (pod.get("status") or {}).get("phase") not in _ENDED:
            by_node.setdefault((pod.get("spec") or {}).get("nodeName") or "", []).append(pod)
    found = []
    for node in nodes:
        spec, metadata = node.get("spec") or {}, node.get("metadata") or {}
        if spec.get("unschedulable") or not _is_ready(node):
            continue
        amounts = (node.get("status") or {}).get("allocatable") or {}
        parsed = {name: quantity.parse(text) for name, text in amounts.items()}
        found.append(
            Node(
                name=metadata.get("name", ""),
                labels=metadata.get("labels") or {},
                taints=spec.get("taints") or (),
                allocatable={name: each for name, each in parsed.items() if each is not None},
                used=sum_of(by_node.get(metadata.get("name", ""), ())),
                overcommit=of_annotations(metadata.get("annotations") or {}),
            )
        )
    return found


class Misfit(NamedTuple):
    """Why a pod fits on no node, and what to do."""

    text: str
    remedy: str


def never_fits(pod: Json, nodes: Sequence[Node]) -> Misfit | None:
    """Why the pod fits on no node, even an empty one; None if it does on one."""
    candidates = [node for node in nodes if _accepts(node, pod)]
    if not candidates:
        return _repelled(pod, nodes)
    short = [each.shortages(pod, {}) for each in candidates]
    if not all(short):
        return None
    name = min(short, key=len)[0]
    amounts = [each.allocatable.get(name, ZERO) for each in candidates]
    largest, asked = max(amounts, key=lambda each: each.nano), requests_of(pod)[name]
    larger = "start the local cluster with --fit" if _is_local(nodes) else "add a larger node"
    remedy = f"request less, or {larger}"
    if asked.nano <= largest.nano:
        return Misfit("no single node has all the resources that it requests", remedy)
    return Misfit(
        f"it requests {asked.render()} {name} of one node, and the largest has {largest.render()}",
        remedy,
    )


def _repelled(pod: Json, nodes: Sequence[Node]) -> Misfit:
    selector = (pod.get("spec") or {}).get("nodeSelector") or {}
    if not nodes:
        return Misfit("no node is ready and schedulable", "repair, uncordon or add a node")
    if any(_is_selected(node, selector) for node in nodes):
        return Misfit(
            "the nodes that it may use have taints that it does not tolerate",
            "add tolerations to the template, or remove the taints",
        )
    wanted = ", ".join(f"{key}={value}" for key, value in selector.items())
    return Misfit(
        f"no ready node has the labels of its nodeSelector: {wanted}",
        "correct the nodeSelector of the template, or label a node",
    )


def waiting_pods(pods: Iterable[Json], nodes: Sequence[Node]) -> list[str]:
    """The names of the pods that would wait for capacity now, if placed one after the other."""
    used = {node.name: dict(node.used) for node in nodes}
    waiting = []
    for pod in pods:
        for node in nodes:
            free = used[node.name]
            if _accepts(node, pod) and not node.shortages(pod, free):
                used[node.name] = sum_of([pod], before=free)
                break
        else:
            waiting.append(str((pod.get("metadata") or {}).get("name", "")))
    return waiting


def waiting_remedy(nodes: Sequence[Node]) -> str:
    """What to do about pods that would wait."""
    if _is_local(nodes):
        return "they start when other pods end; a local cluster with --fit starts all at once"
    return "wait until other pods end, or add nodes"


def _is_local(nodes: Sequence[Node]) -> bool:
    return any(node.overcommit is not None for node in nodes)


def _is_ready(node: Json) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = [each.get("status") for each in conditions if each.get("type") == "Ready"]
    return ready[:1] in ([], ["True"])


def _accepts(node: Node, pod: Json) -> bool:
    spec = pod.get("spec") or {}
    if not _is_selected(node, spec.get("nodeSelector") or {}):
        return False
    tolerations = spec.get("tolerations") or ()
    repelling = [each for each in node.taints if each.get("effect") in _REPELLING]
    return all(any(_tolerates(each, taint) for each in tolerations) for taint in repelling)


def _is_selected(node: Node, selector: Mapping[str, str]) -> bool:
    return all(node.labels.get(key) == value for key, value in selector.items())


def _tolerates(toleration: Json, taint: Json) -> bool:
    if toleration.get("effect") not in {None, "", taint.get("effect")}:
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in {None, "", taint.get("key")}
    is_same_key = toleration.get("key") == taint.get("key")
    return is_same_key and toleration.get("value", "") == taint.get("value", "")


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
