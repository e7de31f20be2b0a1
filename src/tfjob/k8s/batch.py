"""The fields of a batch/v1 Job that the controller reads."""

import msgspec

from tfjob.k8s.meta import ObjectMeta


class BatchJobStatus(msgspec.Struct, frozen=True):
    succeeded: int = 0
    failed: int = 0


class BatchJobSpec(msgspec.Struct, frozen=True):
    suspend: bool | None = None


class BatchJob(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: BatchJobSpec = BatchJobSpec()
    status: BatchJobStatus = BatchJobStatus()
