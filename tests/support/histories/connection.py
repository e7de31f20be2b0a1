"""The client of one simulated operator: every request waits until the history answers it.

It has the methods of the real `Api` that a controller calls. How a request is answered, and
whether it takes effect, is decided by whoever calls `answer`.
"""

# ruff: noqa: ARG002 - methods have the arguments of what they stand for

import asyncio
import enum
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import cache
from typing import Any, Final, TypeVar

import msgspec

from tests.support.histories.server import Json, Key, ModelServer, encode
from tfjob.client.errors import (
    ApiError,
    Forbidden,
    NotFound,
    NotLeadingError,
    ServerTimeout,
    TooManyRequests,
    Transient,
)
from tfjob.dialects.kubeflow import api

T = TypeVar("T")
_READS: Final = frozenset({"get", "list"})


class Fault(enum.Enum):
    """What can happen to a request."""

    BUSY = "the server answers 429"
    QUOTA = "a quota refuses it with 403"
    ADMISSION = "an admission rule refuses it with 403"
    ERROR_BEFORE = "the server answers 500 and does nothing"
    ERROR_AFTER = "the server carries it out and answers 500"
    NO_ANSWER_BEFORE = "it is lost on its way, and times out"
    NO_ANSWER_AFTER = "it is carried out, and the answer is lost"
    LATE = "it times out, and is carried out later"
    REPEATED = "it is carried out, the answer is lost, and the client sends it again"
    OVERTAKEN = "another writer is faster"


_ONLY_CREATES: Final = frozenset({Fault.QUOTA, Fault.ADMISSION})
_BEFORE: Final[Mapping[Fault, Callable[[], ApiError]]] = {
    Fault.BUSY: lambda: TooManyRequests("try again later", status=429),
    Fault.QUOTA: lambda: Forbidden("exceeded quota: pods", status=403, reason="Forbidden"),
    Fault.ADMISSION: lambda: Forbidden("denied by policy", status=403, reason="Forbidden"),
    Fault.ERROR_BEFORE: lambda: Transient("etcd: leader changed", status=500),
    Fault.LATE: lambda: ServerTimeout("no answer in time"),
    Fault.NO_ANSWER_BEFORE: lambda: ServerTimeout("no answer in time"),
}
_AFTER: Final[Mapping[Fault, Callable[[], ApiError]]] = {
    Fault.ERROR_AFTER: lambda: Transient("internal error", status=500),
    Fault.NO_ANSWER_AFTER: lambda: ServerTimeout("the answer was lost"),
}


class Pass(msgspec.Struct):
    """One reconcile: the step at which it began, and the UIDs of jobs that it has looked at."""

    begun: int
    looked: set[str] = msgspec.field(default_factory=set)


CURRENT: Final[ContextVar[Pass | None]] = ContextVar("reconcile", default=None)
"""The reconcile that is at work; the tasks that it starts inherit it."""


class Call(msgspec.Struct, kw_only=True):
    """One request on its way, and the reconcile that made it."""

    verb: str
    key: Key
    effect: Callable[[], Any]
    answer: "asyncio.Future[Any]"
    reconcile: Pass | None
    decode: type[Any] | None = None
    body: Json | None = None
    uid: str | None = None
    is_forced: bool = False
    operator: str = ""

    @property
    def title(self) -> str:
        plural, namespace, name = self.key
        return f"{self.verb} {plural} {namespace}/{name}"

    @property
    def is_write(self) -> bool:
        return self.verb not in _READS


class ModelApi:
    """One operator's way to the server. `observe` sees each request just before it takes effect."""

    def __init__(
        self,
        server: ModelServer,
        name: str,
        *,
        may_write: Callable[[], bool],
        observe: Callable[[Call], None],
    ) -> None:
        self._server = server
        self._name = name
        self._may_write = may_write
        self._observe = observe
        self.is_dead = False
        self.pending: list[Call] = []
        self.writes = 0

    async def get(self, path: str, *, decode: type[T], params: Any = None) -> T:
        key, _ = _parsed(path)
        if key[0] == "nodes":
            found: T = await self._send("get", key, lambda: self._node(key[2]), decode=decode)
        else:
            found = await self._send("get", key, lambda: self._server.get(key), decode=decode)
        return found

    async def list_page(self, path: str, *, decode: type[T], params: Any = None) -> T:
        """The children of one job, by whose name the request is known."""
        (plural, namespace, _), _ = _parsed(f"{path}/")
        labels = dict(each.split("=") for each in params["labelSelector"].split(","))
        found: T = await self._send(
            "list",
            (plural, namespace, labels[api.LABEL_JOB]),
            lambda: self._server.page(plural, namespace, labels),
            decode=decode,
        )
        return found

    async def list_briefly(self, path: str, *, decode: type[T], params: Any = None) -> T:
        """Nobody writes events here, but asking takes its time and may fail."""
        (plural, namespace, _), _ = _parsed(f"{path}/")
        empty: T = await self._send(
            "get", (plural, namespace, ""), lambda: {"items": []}, decode=decode
        )
        return empty

    def _node(self, name: str) -> Json:
        if name in self._server.lost_nodes:
            raise NotFound(f'nodes "{name}" not found', status=404)
        return {"metadata": {"name": name}}

    async def create(
        self, path: str, body: object, *, decode: type[T], field_validation: Any = None
    ) -> T:
        (plural, namespace, _), _ = _parsed(f"{path}/")
        sent: Json = msgspec.json.decode(encode(body))
        key = (plural, namespace, sent["metadata"]["name"])
        made: T = await self._send(
            "create",
            key,
            lambda: self._server.create(plural, namespace, sent),
            decode=decode,
            body=sent,
        )
        return made

    async def replace(self, path: str, body: object, *, decode: type[T]) -> T:
        key, part = _parsed(path)
        sent: Json = msgspec.json.decode(encode(body))
        act = self._server.replace_status if part == "status" else self._server.replace
        made: T = await self._send(
            f"replace {part}".strip(), key, lambda: act(key, sent), decode=decode, body=sent
        )
        return made

    async def patch(
        self,
        path: str,
        body: object,
        *,
        decode: type[T],
        content_type: str = "",
        params: Any = None,
    ) -> T:
        key, _ = _parsed(path)
        sent: Json = msgspec.json.decode(encode(body))
        made: T = await self._send(
            "patch", key, lambda: self._server.patch(key, sent), decode=decode, body=sent
        )
        return made

    async def delete(
        self,
        path: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_seconds: int | None = None,
        propagation: Any = None,
    ) -> None:
        key, _ = _parsed(path)
        grace = {} if grace_seconds is None else {"grace": grace_seconds}
        await self._send(
            "delete",
            key,
            lambda: self._server.delete(key, uid=uid, version=resource_version, **grace),
            uid=uid,
            is_forced=grace_seconds == 0,
        )

    async def _send(
        self,
        verb: str,
        key: Key,
        effect: Callable[[], Any],
        *,
        decode: type[Any] | None = None,
        body: Json | None = None,
        uid: str | None = None,
        is_forced: bool = False,
    ) -> Any:
        if self.is_dead or (verb not in _READS and not self._may_write()):
            raise NotLeadingError
        loop = asyncio.get_running_loop()
        call = Call(
            verb=verb,
            key=key,
            effect=effect,
            answer=loop.create_future(),
            reconcile=CURRENT.get(),
            decode=decode,
            body=body,
            uid=uid,
            is_forced=is_forced,
            operator=self._name,
        )
        self.pending.append(call)
        try:
            return await call.answer
        finally:
            if call in self.pending:
                self.pending.remove(call)

    def carry_out(self, call: Call) -> Any:
        """Let a request take effect; the answer as its caller would read it."""
        self._observe(call)
        self.writes += call.is_write
        self._server.by = self._name
        try:
            found = call.effect()
        finally:
            self._server.by = ""
        kind: Any = call.decode
        return None if kind is None else _decoder(kind).decode(encode(found))

    def answer(self, call: Call, fault: Fault | None) -> None:
        """Answer a request. A fault that cannot happen to it is none."""
        self.pending.remove(call)
        if call.answer.done():
            return
        if fault in _ONLY_CREATES and call.verb != "create":
            fault = None
        if fault is not None and fault in _BEFORE:
            call.answer.set_exception(_BEFORE[fault]())
            return
        try:
            found = self.carry_out(call)
            if fault is Fault.REPEATED and call.verb != "create":
                found = self.carry_out(call)
        except ApiError as error:
            call.answer.set_exception(error)
            return
        if fault is not None and fault in _AFTER:
            call.answer.set_exception(_AFTER[fault]())
        elif fault is Fault.REPEATED and call.verb == "create":
            call.answer.set_exception(ServerTimeout("the answer was lost"))
        else:
            call.answer.set_result(found)


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


@cache
def _parsed(path: str) -> tuple[Key, str]:
    """Plural, namespace and name of a path, and the subresource."""
    parts = path.split("/")
    if "namespaces" not in parts:
        return (parts[-2], "", parts[-1]), ""
    start = parts.index("namespaces")
    namespace, plural, name, *rest = parts[start + 1 :]
    return (plural, namespace, name), rest[0] if rest else ""
