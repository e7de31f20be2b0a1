"""proxy: forwards a request to a pod, or to a pod behind a Service, that publishes its address.

Only loopback is reached, at the port in the pod's annotation. Method, path, query, content type and
body are forwarded, never the token.
"""

import re
from collections.abc import Mapping
from typing import Any

import aiohttp
import msgspec

from tfjob.local.apiserver import status
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.owned_objects import is_terminating, ready_since
from tfjob.local.apiserver.request import Answer
from tfjob.local.apiserver.store import Key

Json = dict[str, Any]
ANNOTATION = "tfjob.dev/url"
_PATH = re.compile(
    r"/api/v1/namespaces/(?P<namespace>[^/]+)/(?P<plural>services|pods)"
    r"/(?:http:)?(?P<name>[^/:]+)(?::(?P<port>[^/:]*))?/proxy(?P<rest>/.*)?"
)
_LOCAL_URL = re.compile(r"http://(?:127\.0\.0\.1|\[::1\]):\d{1,5}/")
_PATIENCE = aiohttp.ClientTimeout(total=60)


class ProxyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to forward; `rest` is the path on the pod."""

    namespace: str
    plural: str
    name: str
    port: str
    rest: str


def proxy_request(path: str) -> ProxyRequest | None:
    """The request to forward, if the path is one of a proxy subresource."""
    match = _PATH.fullmatch(path)
    return None if match is None else ProxyRequest(**match.groupdict(default=""))


async def proxy(
    url: str, *, method: str, query: Mapping[str, str], body: bytes, content_type: str
) -> Answer:
    """The whole response of the pod."""
    headers = {"Content-Type": content_type} if content_type else {}
    try:
        async with (
            aiohttp.ClientSession(timeout=_PATIENCE) as session,
            session.request(
                method,
                url,
                params=query,
                data=body or None,
                headers=headers,
                allow_redirects=False,
            ) as got,
        ):
            media = got.headers.get("Content-Type", "application/octet-stream")
            return Answer(code=got.status, body=await got.read(), content_type=media)
    except (aiohttp.ClientError, TimeoutError) as error:
        raise status.unavailable(f"error trying to reach service: {url}: {error}") from error


def moved(path: str) -> Answer:
    """Redirect to a path with a final slash, which relative links need."""
    return Answer(code=301, headers=(("Location", f"{path}/"),))


def url_for(backend: Backend, errand: ProxyRequest) -> str:
    """Where the request goes; StatusError if nothing serves there."""
    stored = backend.store.get(Key(errand.plural, errand.namespace, errand.name))
    if stored is None:
        raise status.not_found(errand.plural, errand.name)
    pods = [stored.object()]
    if errand.plural == "services":
        _check_port(stored.object(), errand)
        pods = _pods_of(backend, stored.object())
    for pod in pods:
        url = str((pod["metadata"].get("annotations") or {}).get(ANNOTATION, ""))
        if _LOCAL_URL.fullmatch(url) and ready_since(pod) is not None and not is_terminating(pod):
            return url + errand.rest.removeprefix("/")
    if errand.plural == "services":
        raise _nobody(errand)
    raise status.unavailable(f'pod "{errand.name}" serves nothing: no annotation {ANNOTATION}')


def _nobody(errand: ProxyRequest) -> status.StatusError:
    return status.unavailable(f'no endpoints available for service "{errand.name}"')


def _check_port(service: Json, errand: ProxyRequest) -> None:
    ports = (service.get("spec") or {}).get("ports") or ()
    known = {str(port.get(field)) for port in ports for field in ("port", "name")}
    if errand.port and errand.port not in known:
        if errand.port.isdecimal():
            what = f'no service port {errand.port} found for service "{errand.name}"'
            raise status.unavailable(what)
        raise _nobody(errand)


def _pods_of(backend: Backend, service: Json) -> list[Json]:
    selector = (service.get("spec") or {}).get("selector") or {}
    rows = backend.store.page("pods", namespace=service["metadata"]["namespace"])
    pods = [row.object() for row in rows] if selector else []
    return [
        pod for pod in pods if selector.items() <= (pod["metadata"].get("labels") or {}).items()
    ]
