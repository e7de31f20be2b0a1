"""The fields of a PodGroup that the controller reads.

The spec is plain JSON because its fields depend on the gang scheduler.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tfjob.k8s.meta import ObjectMeta


class PodGroupCondition(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class PodGroupStatus(msgspec.Struct, frozen=True):
    phase: str = ""
    conditions: Sequence[PodGroupCondition] = ()


class PodGroup(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: Mapping[str, Any] = {}
    status: PodGroupStatus = PodGroupStatus()
