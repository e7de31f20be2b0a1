"""The fields of a PodGroup that the controller reads.

The spec is plain JSON because its fields depend on the gang scheduler.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tfjob.k8s.meta import ObjectMeta


class PodGroupStatus(msgspec.Struct, frozen=True):
    phase: str = ""


class PodGroup(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: Mapping[str, Any] = {}
    status: PodGroupStatus = PodGroupStatus()
