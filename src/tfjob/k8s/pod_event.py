"""Events as they are read: about any object, and about a pod that does not start or was killed."""

from collections.abc import Sequence

import msgspec

from tfjob.k8s.meta import ObjectMeta

MAX_MESSAGE = 1024
"""Characters kept of a message."""


class InvolvedObject(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""
    uid: str = ""


class ObjectEvent(msgspec.Struct, frozen=True, rename="camel"):
    metadata: ObjectMeta
    involved_object: InvolvedObject = InvolvedObject()
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int | None = None
    last_timestamp: str | None = None

    @property
    def order(self) -> tuple[str, int]:
        """Sorts by time; events of the same second sort in the order in which they were stored."""
        version = self.metadata.resource_version
        return self.last_timestamp or "", int(version) if version.isdecimal() else 0


class PodEvent(ObjectEvent, frozen=True, rename="camel"):
    """An event that the operator reads. Users write events too, so its message is cut."""

    def __post_init__(self) -> None:
        if len(self.message) > MAX_MESSAGE:
            msgspec.structs.force_setattr(self, "message", self.message[:MAX_MESSAGE])


class PodEventList(msgspec.Struct):
    items: Sequence[PodEvent] | None = None
