"""An object beside the pods of a job, as far as a job cares: whether it is there, up, and asleep.

One shape for Deployments and for the kinds of others that serve the same end.
"""

import msgspec

from tfjob.k8s.meta import ObjectMeta


class CompanionSpec(msgspec.Struct, frozen=True):
    replicas: int | None = None
    suspend: bool | None = None


class CompanionStatus(msgspec.Struct, frozen=True, rename="camel"):
    ready_replicas: int = 0
    phase: str = ""
    url: str = ""


class CompanionObject(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: CompanionSpec = CompanionSpec()
    status: CompanionStatus = CompanionStatus()
