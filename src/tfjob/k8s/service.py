"""The fields of a Service that the controller reads: its metadata."""

import msgspec

from tfjob.k8s.meta import ObjectMeta


class Service(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta
