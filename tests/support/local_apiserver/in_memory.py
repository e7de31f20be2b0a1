"""The local API server without a network: its backend in memory, and a real client of it.

`api` is the client that the operator would have. `call`, `request` and `make` reach the server
directly. `refuse` makes the client's requests fail with errors that a healthy server never returns.
"""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import msgspec

from tests.support.controlplane.endpoint import MERGE_PATCH
from tests.support.controlplane.endpoint import ApiError as ServerError
from tests.support.permissive_crd import permissive
from tests.support.simulation.connection import Connection, FaultInjector
from tfjob.client.config import Config
from tfjob.client.errors import ApiError
from tfjob.client.request import Request
from tfjob.dialects.base import Dialect
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.k8s import time
from tfjob.local.apiserver import bootstrap, router
from tfjob.local.apiserver.backend import Backend, Clock, system_clock
from tfjob.local.apiserver.request import Answer
from tfjob.local.apiserver.store import Key, Store

Json = dict[str, Any]
Refuse = Callable[[Request], ApiError | None]
CORE = "/api/v1/namespaces/default"
JOBS = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class InMemoryApiServer:
    """Use as an async context manager, or call `start` and `close`."""

    def __init__(self, *, clock: Clock = system_clock) -> None:
        self.store = Store(Path(":memory:"))
        self.backend = Backend(self.store, clock=clock)
        chance = random.Random(1)  # noqa: S311 - a run must be repeatable
        injector = FaultInjector(chance=chance, is_calm=True)
        self.connection = Connection(self.backend, injector)
        self.api = self.connection.connect(Config(server="http://in-memory.invalid"))
        self.refuse: Refuse = lambda _: None
        self._send = self.api._transport.send
        self.api._transport.send = self._refused_or_sent  # type: ignore[method-assign]

    async def __aenter__(self) -> Self:
        await self.start(KubeflowV1())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self, *dialects: Dialect) -> None:
        """Create the default objects, and the CRDs of these dialects without their schemas."""
        bootstrap.ensure(self.backend)
        for dialect in dialects:
            await self.make(DEFINITIONS, permissive(dialect.crd()))

    async def close(self) -> None:
        self.backend.is_closing = True
        self.backend.watches.wake_all()
        await self.api.close()
        self.store.close()

    async def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        """The server's answer, with its HTTP status code as `code`."""
        code, content = await self._answered(method, path, body)
        answer: Json = msgspec.json.decode(content)
        return {**answer, "code": code}

    async def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Json:
        """The server's answer; raises what a client of a real server would raise."""
        if method == "DELETE" and (body or {}).get("gracePeriodSeconds") == 0:
            self._show_last_delete(path)
        code, content = await self._answered(method, path, body)
        if code >= 300:
            raise ServerError(f"{method} {path}", status=code, body=content)
        answer: Json = msgspec.json.decode(content)
        return answer

    async def make(self, path: str, body: Json) -> Json:
        made = await self.ask("POST", path, body)
        assert made["code"] == 201, made
        return made

    async def listed(self, path: str) -> list[Json]:
        found: list[Json] = (await self.ask("GET", path))["items"]
        return found

    async def names(self, plural: str) -> list[str]:
        found = await self.listed(f"{CORE}/{plural}")
        return sorted(each["metadata"]["name"] for each in found)

    async def events(self) -> list[tuple[str, str, str]]:
        found = await self.listed(f"{CORE}/events")
        return [(each["type"], each["reason"], each["message"]) for each in found]

    async def _answered(
        self, method: str, path: str, body: Mapping[str, Any] | None
    ) -> tuple[int, bytes]:
        found = await router.answer(
            self.backend,
            router.HttpRequest(
                method=method,
                path=path,
                body=msgspec.json.encode(body) if body is not None else b"",
                content_type=MERGE_PATCH if method == "PATCH" else "application/json",
            ),
        )
        assert isinstance(found, Answer)
        return found.code, found.body

    def _show_last_delete(self, path: str) -> None:
        """A real API server stores the shortened grace period before it removes the pod."""
        key = Key("pods", "default", path.rpartition("/")[2])
        stored = self.store.get(key)
        if stored is None or not stored.object()["metadata"].get("deletionGracePeriodSeconds"):
            return
        pod = stored.object()
        moment = time.render(self.backend.clock())
        pod["metadata"] |= {"deletionTimestamp": moment, "deletionGracePeriodSeconds": 0}
        self.store.put(key, pod)

    async def _refused_or_sent(self, request: Request) -> bytes:
        error = self.refuse(request)
        if error is not None:
            raise error
        return await self._send(request)


def decoded(body: Json, kind: type[Any]) -> Any:
    """An object of the server, as the operator's informers would hold it."""
    return msgspec.json.decode(msgspec.json.encode(body), type=kind)
