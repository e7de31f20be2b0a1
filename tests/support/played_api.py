"""A real client and a real API server in one process, with no network between them.

`Played` holds both. A refusal can be laid over any request, for what a good server never says.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import msgspec

from tests.support.permissive_crd import permissive
from tests.support.simulation.kubelet import call
from tests.support.simulation.wire import Line, Weather
from tfjob.client.config import Config
from tfjob.client.errors import ApiError
from tfjob.client.request import Request
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.local.apiserver import bootstrap
from tfjob.local.apiserver.backend import Backend, Clock, system_clock
from tfjob.local.apiserver.store import Store

Json = dict[str, Any]
Refuse = Callable[[Request], ApiError | None]
CORE = "/api/v1/namespaces/default"
JOBS = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Played:
    """`api` asks as the operator does; `ask` looks at the server itself."""

    def __init__(self, *, clock: Clock = system_clock) -> None:
        self._store = Store(Path(":memory:"))
        self.backend = Backend(self._store, clock=clock)
        weather = Weather(chance=random.Random(1), is_calm=True)  # noqa: S311 - nothing secret
        self.line = Line(self.backend, weather)
        self.api = self.line.connect(Config(server="http://played.invalid"))
        self.refuse: Refuse = lambda _: None
        self._send = self.api._transport.send
        self.api._transport.send = self._asked  # type: ignore[method-assign]  # a test's own door

    async def _asked(self, request: Request) -> bytes:
        error = self.refuse(request)
        if error is not None:
            raise error
        return await self._send(request)

    async def __aenter__(self) -> Self:
        bootstrap.ensure(self.backend)
        await self.ask("POST", _DEFINITIONS, permissive(KubeflowV1().crd()))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.api.close()
        self._store.close()

    async def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        return await call(self.backend, method, path, body)

    async def make(self, path: str, body: Json) -> Json:
        made = await self.ask("POST", path, body)
        assert made["code"] == 201, made
        return made

    async def names(self, plural: str) -> list[str]:
        found = await self.ask("GET", f"{CORE}/{plural}")
        return sorted(each["metadata"]["name"] for each in found["items"])

    async def events(self) -> list[tuple[str, str, str]]:
        found = await self.ask("GET", f"{CORE}/events")
        return [(each["type"], each["reason"], each["message"]) for each in found["items"]]


def decoded(body: Json, kind: type[Any]) -> Any:
    """What the server answered, as the operator's caches would hold it."""
    return msgspec.json.decode(msgspec.json.encode(body), type=kind)
