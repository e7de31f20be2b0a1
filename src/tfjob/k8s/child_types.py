"""The children of a job other than pods, with the fields that the controller reads."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tfjob.k8s.meta import ObjectMeta


class BatchJobStatus(msgspec.Struct, frozen=True):
    succeeded: int = 0
    failed: int = 0


class BatchJobSpec(msgspec.Struct, frozen=True):
    suspend: bool | None = None


class BatchJob(msgspec.Struct, frozen=True):
    """A batch/v1 Job."""

    metadata: ObjectMeta
    spec: BatchJobSpec = BatchJobSpec()
    status: BatchJobStatus = BatchJobStatus()


class Service(msgspec.Struct, frozen=True, gc=False):
    """Only the metadata of a Service is read."""

    metadata: ObjectMeta


class PodGroupCondition(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class PodGroupStatus(msgspec.Struct, frozen=True):
    phase: str = ""
    conditions: Sequence[PodGroupCondition] = ()


class PodGroup(msgspec.Struct, frozen=True):
    """The spec is plain JSON because its fields depend on the gang scheduler."""

    metadata: ObjectMeta
    spec: Mapping[str, Any] = {}
    status: PodGroupStatus = PodGroupStatus()


class CompanionSpec(msgspec.Struct, frozen=True):
    replicas: int | None = None
    suspend: bool | None = None


class CompanionStatus(msgspec.Struct, frozen=True, rename="camel"):
    ready_replicas: int = 0
    phase: str = ""
    url: str = ""
    conditions: Any = None
    """Plain JSON, because the format differs between vendors."""


class CompanionObject(msgspec.Struct, frozen=True):
    """A Deployment, or a TensorBoard object of another vendor."""

    metadata: ObjectMeta
    spec: CompanionSpec = CompanionSpec()
    status: CompanionStatus = CompanionStatus()
