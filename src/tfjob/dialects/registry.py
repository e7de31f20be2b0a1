"""All dialects, and which of them reads a document."""

from tfjob.dialects.base import Dialect
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.dialects.kubeflow.v1beta1 import KubeflowV1beta1
from tfjob.dialects.tensorflow.v1alpha1 import TensorflowV1alpha1
from tfjob.dialects.tensorstack.v1beta1 import TensorStackV1beta1

DIALECTS: tuple[Dialect, ...] = (
    KubeflowV1(),
    KubeflowV1beta1(),
    TensorflowV1alpha1(),
    TensorStackV1beta1(),
)

_BY_NAME = {(f"{each.group}/{each.version}", each.kind): each for each in DIALECTS}


def dialect_for(api_version: object, kind: object) -> Dialect | None:
    """The dialect of a document's apiVersion and kind, or None where nobody reads it."""
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    return _BY_NAME.get((api_version, kind))
