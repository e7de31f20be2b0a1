"""The binding and log subresources of pods."""

from collections.abc import AsyncIterator
from typing import Any

from tfjob.k8s import time
from tfjob.local.apiserver import admission, decode, status
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.handlers.objects import commit
from tfjob.local.apiserver.request import Answer, Request, Stream, json_answer

Json = dict[str, Any]
_RESOURCE = "pods/binding"


def bind(backend: Backend, request: Request) -> Answer:
    admission.check_options(request)
    value = decode.parse_body(request.body, request.content_type)
    sent = value if isinstance(value, dict) else {}
    node = (sent.get("target") or {}).get("name")
    if not isinstance(node, str) or not node:
        raise status.bad_request("target.name: Required value: names the node that runs the pod")
    old = backend.get(request).object()
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


async def log(backend: Backend, request: Request) -> Stream:
    pod = backend.get(request).object()
    container = _container(pod, request.query.get("container", ""))
    if backend.logs is None:
        raise status.not_supported("pods/log", hint="no node writes logs here")
    chunks = backend.logs.read(pod, {**request.query, "container": container})
    try:
        first = await anext(chunks, b"")
    except LookupError as error:
        raise status.bad_request(str(error.args[0])) from error
    return Stream(chunks=_after(first, chunks), content_type="text/plain")


async def _after(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    if first:
        yield first
        async for chunk in rest:
            yield chunk


def _container(pod: Json, asked: str) -> str:
    spec, name = pod["spec"], pod["metadata"]["name"]
    known = [c["name"] for c in spec.get("containers") or ()]
    first = [c["name"] for c in spec.get("initContainers") or ()]
    if asked and asked not in known + first:
        raise status.bad_request(f"container {asked} is not valid for pod {name}")
    if asked or len(known) == 1:
        return asked or str(known[0])
    default = pod["metadata"].get("annotations", {}).get("kubectl.kubernetes.io/default-container")
    if default in known:
        return str(default)
    choices = f"[{' '.join(known)}]"
    if first:
        choices += f" or one of the init containers: [{' '.join(first)}]"
    raise status.bad_request(
        f"a container name must be specified for pod {name}, choose one of: {choices}"
    )
