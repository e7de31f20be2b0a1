"""A gang scheduler's PodGroup: what was asked of the scheduler and the phase it answered.

The spec is plain JSON because each scheduler has fields of its own.
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
