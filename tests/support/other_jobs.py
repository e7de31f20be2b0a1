"""Short jobs of the other APIs, valid unless a test changes them.

Plain documents. Nothing under test is imported.
"""

from typing import Any

from tests.support.tfjobs import Json, container, replica


def old_job(*kinds: str, name: str = "j", **spec: Any) -> Json:
    """A `tensorflow.org/v1alpha1` job with one replica of each kind."""
    template = {"spec": {"containers": [container()]}}
    entries = [{"tfReplicaType": kind, "template": template} for kind in kinds or ("MASTER",)]
    return {
        "apiVersion": "tensorflow.org/v1alpha1",
        "kind": "TfJob",
        "metadata": {"name": name},
        "spec": {"RuntimeId": "76no", "replicaSpecs": entries, **spec},
    }


def training_job(*kinds: str, name: str = "j", **spec: Any) -> Json:
    """A `batch.tensorstack.dev/v1beta1` job with one replica of each kind."""
    entries = [{"type": kind, **replica(1)} for kind in kinds or ("worker",)]
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "TensorFlowTrainingJob",
        "metadata": {"name": name},
        "spec": {"replicaSpecs": entries, **spec},
    }
