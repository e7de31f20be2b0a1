"""A service as a controller sees it: its metadata tell all that is ever asked."""

import msgspec

from tfjob.k8s.meta import ObjectMeta


class Service(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta
