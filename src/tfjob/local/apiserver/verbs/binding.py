"""binding: give a pod to a node, once."""

from typing import Any

from tfjob.k8s import time
from tfjob.local.apiserver import admission, decode, status
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.request import Answer, Request, json_answer
from tfjob.local.apiserver.verbs.get import found
from tfjob.local.apiserver.verbs.update import commit

Json = dict[str, Any]
_RESOURCE = "pods/binding"


def bind(backend: Backend, request: Request) -> Answer:
    admission.check_options(request)
    value = decode.parse_body(request.body, request.content_type)
    sent = value if isinstance(value, dict) else {}
    node = (sent.get("target") or {}).get("name")
    if not isinstance(node, str) or not node:
        raise status.bad_request("target.name: Required value: names the node that runs the pod")
    old = found(backend, request).object()
    _check(request.name, old, uid=(sent.get("metadata") or {}).get("uid"))
    commit(backend, request, _bound(old, node, now=time.render(backend.clock())), old=old)
    return json_answer(status.done(201), code=201)


def _check(name: str, pod: Json, *, uid: object) -> None:
    meta, node = pod["metadata"], pod["spec"].get("nodeName")
    if uid and uid != meta["uid"]:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {meta['uid']}"
        raise status.conflict(_RESOURCE, name, why)
    if meta.get("deletionTimestamp"):
        raise status.conflict(_RESOURCE, name, f"pod {name} is being deleted, cannot be assigned")
    if node:
        why = f'pod {name} is already assigned to node "{node}"'
        raise status.conflict(_RESOURCE, name, why)


def _bound(pod: Json, node: str, *, now: str) -> Json:
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now}
    stood = (pod.get("status") or {}).get("conditions") or ()
    others = [each for each in stood if each.get("type") != "PodScheduled"]
    return {
        **pod,
        "metadata": {**pod["metadata"]},
        "spec": {**pod["spec"], "nodeName": node},
        "status": {**(pod.get("status") or {}), "conditions": [*others, scheduled]},
    }
