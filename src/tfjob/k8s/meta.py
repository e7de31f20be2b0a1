"""The fields of object metadata that the controller reads.

Other fields are skipped while decoding, which saves memory. Times stay strings, so that a malformed
one does not make the whole object undecodable. Types that are cached by the thousand are excluded
from garbage collection (`gc=False`), since decoded JSON has no cycles.
"""

from collections.abc import Mapping, Sequence

import msgspec


class OwnerReference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    finalizers: Sequence[str] = ()
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    owner_references: Sequence[OwnerReference] = ()

    @property
    def is_terminating(self) -> bool:
        return self.deletion_timestamp is not None

    @property
    def controller_uid(self) -> str | None:
        """UID of the controller owner reference, or None for an orphan."""
        for owner in self.owner_references:
            if owner.controller:
                return owner.uid
        return None
