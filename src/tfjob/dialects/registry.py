"""All dialects, and the lookup of the one for a document."""

from tfjob.dialects.base import Dialect
from tfjob.dialects.descriptor import Descriptor
from tfjob.dialects.kubeflow.descriptor import DESCRIPTOR as KUBEFLOW
from tfjob.dialects.tensorflow.descriptor import DESCRIPTOR as TENSORFLOW
from tfjob.dialects.tensorstack.descriptor import DESCRIPTOR as TENSORSTACK

DESCRIPTORS = (KUBEFLOW, TENSORFLOW, TENSORSTACK)
DIALECTS: tuple[Dialect, ...] = tuple(each for found in DESCRIPTORS for each in found.dialects)

_BY_NAME = {(f"{each.group}/{each.version}", each.kind): each for each in DIALECTS}


def dialect_for(api_version: object, kind: object) -> Dialect | None:
    """The dialect for an apiVersion and kind, or None if there is none."""
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    return _BY_NAME.get((api_version, kind))


def descriptor_of(dialect: Dialect) -> Descriptor:
    """The descriptor of the API group that a dialect belongs to."""
    return next(each for each in DESCRIPTORS if each.group == dialect.group)
