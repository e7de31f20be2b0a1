"""What the node hands out more than once, because its user asks for it.

By default nothing: requests never exceed the machine, and a GPU belongs to one pod.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tfjob.k8s.quantity import Quantity
from tfjob.local.node import devices, resource_fit
from tfjob.local.node.resource_fit import GPU

Json = Mapping[str, Any]
Amounts = Mapping[str, Quantity]
ANNOTATION = "tfjob.dev/overcommit"
"""The annotation of the Node that names what it hands out more than once."""
_PODS = "pods"
_REQUESTS, _GPUS, _NOTHING = "requests", "gpus", "none"


class Overcommit(msgspec.Struct, frozen=True, kw_only=True):
    """With `requests`, all requests fit, and GPUs are shared, too. With `gpus`, only they are."""

    requests: bool = False
    gpus: bool = False

    @property
    def annotation(self) -> str:
        """The value of the annotation."""
        if self.requests:
            return _REQUESTS
        return _GPUS if self.gpus else _NOTHING

    @property
    def shares_gpus(self) -> bool:
        return self.requests or self.gpus

    def shortages(self, pod: Json, *, used: Amounts, allocatable: Amounts) -> tuple[str, ...]:
        """The resources that are insufficient for this pod; empty when it may start."""
        if self.gpus:
            used = {name: amount for name, amount in used.items() if name != GPU}
        short = resource_fit.shortages(pod, used=used, allocatable=allocatable)
        return tuple(name for name in short if name == _PODS) if self.requests else short

    def gpus_for(
        self, count: int, *, every: Sequence[str], taken: Sequence[str]
    ) -> tuple[str, ...] | None:
        """The GPUs of a pod that needs so many; None if there are too few."""
        if not self.shares_gpus:
            return devices.allocate(every, taken=taken, count=count)
        count = self.given(count, every=every)
        return devices.allocate_shared(every, taken=taken, count=count)

    def given(self, count: int, *, every: Sequence[str]) -> int:
        """How many GPUs a pod gets that asks for so many."""
        return min(count, len(every)) if self.requests else count


def of_annotations(annotations: Mapping[str, str]) -> Overcommit | None:
    """What a Node with these annotations hands out more than once; None if it is not local."""
    value = annotations.get(ANNOTATION)
    if value is None:
        return None
    return Overcommit(requests=value == _REQUESTS, gpus=value == _GPUS)
