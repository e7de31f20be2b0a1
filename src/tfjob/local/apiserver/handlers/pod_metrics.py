"""The metrics API of pods: CPU and memory, measured by the node while the request waits."""

from typing import Any

from tfjob.k8s import time
from tfjob.local.apiserver import selection_predicate, status
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.kinds import POD_METRICS
from tfjob.local.apiserver.request import Answer, Request, json_answer
from tfjob.local.apiserver.store import Key

Json = dict[str, Any]
_PODS = "pods"


async def pod_metrics(backend: Backend, request: Request) -> Answer:
    """The usage of one pod, or of all that match; a pod that does not run has none."""
    if backend.metrics is None:
        raise status.not_supported("pods.metrics.k8s.io", hint="no node measures pods here")
    pods = {pod["metadata"]["uid"]: pod for pod in _pods(backend, request)}
    measured = await backend.metrics.measure(list(pods.values()))
    now = time.render(backend.clock())
    items = [_item(pods[each.pop("uid")], each, now=now) for each in measured]
    if not request.name:
        head = {"kind": "PodMetricsList", "apiVersion": POD_METRICS.api_version, "metadata": {}}
        return json_answer({**head, "items": items})
    if not items:
        raise status.not_found(POD_METRICS.qualified, request.name)
    return json_answer(items[0])


def _pods(backend: Backend, request: Request) -> list[Json]:
    if request.name:
        stored = backend.store.get(Key(_PODS, request.namespace, request.name))
        return [] if stored is None else [stored.object()]
    matches = selection_predicate.matcher(request)
    namespace = selection_predicate.namespace_asked(request)
    rows = backend.store.page(_PODS, namespace=namespace, at=backend.store.revision, after=("", ""))
    return [
        row.object()
        for row in rows
        if matches is None or matches(row.namespace, row.name, row.object())
    ]


def _item(pod: Json, measured: Json, *, now: str) -> Json:
    meta = pod["metadata"]
    return {
        "kind": POD_METRICS.kind,
        "apiVersion": POD_METRICS.api_version,
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "creationTimestamp": now,
            "labels": meta.get("labels") or {},
        },
        "timestamp": now,
        **measured,
    }
