"""A batch/v1 Job as a controller sees it: its metadata and how many of its pods succeeded."""

import msgspec

from tfjob.k8s.meta import ObjectMeta


class BatchJobStatus(msgspec.Struct, frozen=True):
    succeeded: int = 0
    failed: int = 0


class BatchJob(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    status: BatchJobStatus = BatchJobStatus()
