"""log: the lines of a pod's container, as text, as long as the reader listens."""

from collections.abc import AsyncIterator
from typing import Any

from tfjob.local.apiserver import status
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.request import Request, Stream
from tfjob.local.apiserver.verbs.get import found

Json = dict[str, Any]


async def log(backend: Backend, request: Request) -> Stream:
    pod = found(backend, request).object()
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
