"""The fields of a companion that the controller reads: replicas, suspension and readiness.

One type serves for Deployments and for TensorBoard objects of other vendors.
"""

from typing import Any

import msgspec

from tfjob.k8s.meta import ObjectMeta


class CompanionSpec(msgspec.Struct, frozen=True):
    replicas: int | None = None
    suspend: bool | None = None


class CompanionStatus(msgspec.Struct, frozen=True, rename="camel"):
    ready_replicas: int = 0
    phase: str = ""
    url: str = ""
    conditions: Any = None
    """As written: vendors give them any shape."""


class CompanionObject(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: CompanionSpec = CompanionSpec()
    status: CompanionStatus = CompanionStatus()
