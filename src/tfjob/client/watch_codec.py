"""Decodes the lines of a watch into typed events.

A line that is not JSON was damaged in transit and raises MalformedLine: the watch is retried. An
object that does not match its type is skipped and reported as Unreadable; one that is nested too
deeply is decoded without its deep fields. An ERROR event is raised as an ApiError.
"""

from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from tfjob.client.errors import Status, from_status
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.nesting import UNREADABLE, pruned

Key: TypeAlias = tuple[str, str]
"""Namespace and name."""

_INITIAL_END: Final = "k8s.io/initial-events-end"


class HasMetadata(Protocol):
    """Any Kubernetes object type."""

    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T", bound=HasMetadata)


class Replaced(msgspec.Struct, Generic[T], frozen=True):
    """The whole collection at a version; what is neither listed nor skipped was deleted."""

    objects: list[T]
    version: str
    skipped: frozenset[Key] = frozenset()


class Changed(msgspec.Struct, Generic[T], frozen=True):
    """An object was added or modified."""

    object: T

    @property
    def version(self) -> str:
        return self.object.metadata.resource_version


class Deleted(msgspec.Struct, frozen=True):
    """An object was deleted or is no longer selected."""

    key: Key
    version: str


class Progressed(msgspec.Struct, frozen=True):
    """A bookmark: no selected object changed up to this version."""

    version: str
    ends_initial: bool = False


class Unreadable(msgspec.Struct, frozen=True):
    """An object that does not match its type; its last known state stays in use."""

    key: Key
    version: str
    fault: str


Event: TypeAlias = Replaced[T] | Changed[T] | Deleted | Progressed
LineEvent: TypeAlias = Changed[T] | Deleted | Progressed | Unreadable


class MalformedLine(ValueError):  # noqa: N818 - says what it is
    """A line of a watch is not a valid event."""


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_token: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct, frozen=True):
    """One page of a collection, with its objects still encoded."""

    metadata: ListMeta = ListMeta()
    items: list[msgspec.Raw] | None = None


class _Line(msgspec.Struct, Generic[T], frozen=True):
    type: str
    object: T


class _Bare(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _Name(msgspec.Struct, frozen=True, rename="camel"):
    """The identifying metadata of an object, of any type."""

    name: Any = ""
    namespace: Any = ""
    resource_version: Any = ""


class _Named(msgspec.Struct, frozen=True):
    metadata: _Name = _Name()


class _Envelope(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


def key_of(metadata: ObjectMeta) -> Key:
    return metadata.namespace, metadata.name


class LineDecoder(Generic[T]):
    """Decodes watch lines and listed objects of one type."""

    def __init__(self, kind: type[T]) -> None:
        line: Any = _Line[kind]  # type: ignore[valid-type]  # a type known at run time only
        self._line: msgspec.json.Decoder[_Line[T]] = msgspec.json.Decoder(line)
        self._object = msgspec.json.Decoder(kind)

    def line(self, text: bytes) -> LineEvent[T]:
        """Decode a line. Raises MalformedLine, or the ApiError of an ERROR event."""
        try:
            return self._event(text)
        except RecursionError:
            return self._event(pruned(text, level=2))

    def item(self, text: msgspec.Raw) -> Changed[T] | Unreadable:
        """Decode one object of a list."""
        try:
            return self._listed(text)
        except RecursionError:
            return self._listed(msgspec.Raw(pruned(bytes(text), level=1)))

    def _event(self, text: bytes) -> LineEvent[T]:
        try:
            line = self._line.decode(text)
        except (msgspec.DecodeError, UnicodeError) as fault:
            return _odd_line(text, fault)
        if line.type in {"ADDED", "MODIFIED"}:
            return Changed(line.object)
        if line.type == "DELETED":
            metadata = line.object.metadata
            return Deleted(key_of(metadata), metadata.resource_version)
        return _odd_line(text, None)

    def _listed(self, text: msgspec.Raw) -> Changed[T] | Unreadable:
        try:
            return Changed(self._object.decode(text))
        except (msgspec.DecodeError, UnicodeError) as fault:
            return _unreadable(text, str(fault))


def _odd_line(text: bytes, fault: Exception | None) -> Deleted | Progressed | Unreadable:
    """Decode a line whose object does not have the expected type."""
    try:
        envelope = _ENVELOPE.decode(text)
        if envelope.type == "ERROR":
            raise from_status(_STATUS.decode(envelope.object), request="watch")
        metadata = _BARE.decode(envelope.object).metadata
    except (msgspec.DecodeError, UnicodeError) as cause:
        # The text is not logged: it may contain a tenant's data.
        raise MalformedLine(f"not a watch event ({cause}), {len(text)} bytes") from cause
    if envelope.type == "BOOKMARK":
        ends = metadata.annotations.get(_INITIAL_END) == "true"
        return Progressed(metadata.resource_version, ends_initial=ends)
    if envelope.type == "DELETED":
        return Deleted(key_of(metadata), metadata.resource_version)
    reason = str(fault) if fault else f"unknown event type: {envelope.type}"
    return Unreadable(key_of(metadata), metadata.resource_version, reason)


def _unreadable(text: msgspec.Raw, fault: str) -> Unreadable:
    """Identify a listed object that cannot be decoded."""
    try:
        found = _NAMED.decode(text).metadata
    except UNREADABLE:
        found = _Name()
    name, namespace, version = (
        each if isinstance(each, str) else ""
        for each in (found.name, found.namespace, found.resource_version)
    )
    return Unreadable((namespace, name), version, fault)


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_STATUS: Final = msgspec.json.Decoder(Status)
_BARE: Final = msgspec.json.Decoder(_Bare)
_NAMED: Final = msgspec.json.Decoder(_Named)


class LineBuffer:
    """Splits chunks into lines and keeps an incomplete last line."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return [line for line in lines if line]


class InitialList(Generic[T]):
    """Collects the initial events of a watch, or the items of a list."""

    def __init__(self) -> None:
        self._objects: dict[Key, T] = {}
        self._skipped: set[Key] = set()

    def take(self, event: LineEvent[T]) -> Replaced[T] | None:
        """Add an event; returns the whole state once the server marks it complete."""
        match event:
            case Changed():
                self._objects[key_of(event.object.metadata)] = event.object
            case Deleted():
                self._objects.pop(event.key, None)
            case Unreadable():
                self._skipped.add(event.key)
            case Progressed(ends_initial=True):
                return self.as_of(event.version)
        return None

    def as_of(self, version: str) -> Replaced[T]:
        return Replaced(list(self._objects.values()), version, frozenset(self._skipped))


class WatchSession(Generic[T]):
    """One watch connection: first collects the initial state, then passes changes through."""

    def __init__(self, *, is_gathering: bool) -> None:
        self.is_gathering = is_gathering
        self._state = InitialList[T]()

    def take(self, event: LineEvent[T]) -> Event[T] | None:
        """The event to emit for a line; None while the initial state is incomplete."""
        if self.is_gathering:
            whole = self._state.take(event)
            self.is_gathering = whole is None
            return whole
        if isinstance(event, Unreadable):
            return Progressed(event.version)
        return event
