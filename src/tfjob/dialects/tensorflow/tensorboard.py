"""The TensorBoard of a TfJob: a Deployment and its Service.

It exists until the job is deleted and has no effect on the job's status.
"""

from typing import Any

from tfjob.core.job import Companion
from tfjob.dialects.tensorflow import api
from tfjob.dialects.tensorflow.names import Names
from tfjob.dialects.tensorflow.spec import TensorBoard

_PORT = 6006
_SERVICE_PORT = 80
_SERVICE_TYPE = "ClusterIP"


def companions_of(board: TensorBoard, *, names: Names, image: str) -> list[Companion]:
    """The Service first, since users connect to its name."""
    labels = {**names.labels, api.LABEL_APP: "tensorboard"}
    return [
        Companion(
            kind="Service",
            name=names.tensorboard,
            manifest={
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": names.tensorboard, "labels": labels},
                "spec": {
                    "type": board.service_type or _SERVICE_TYPE,
                    "selector": labels,
                    "ports": [{"name": "tb-port", "port": _SERVICE_PORT, "targetPort": _PORT}],
                },
            },
        ),
        Companion(
            kind="Deployment",
            name=names.tensorboard,
            manifest={
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": names.tensorboard, "labels": labels},
                "spec": {
                    "replicas": 1,
                    "selector": {"matchLabels": labels},
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": _pod(board, name=names.tensorboard, image=image),
                    },
                },
            },
        ),
    ]


def _pod(board: TensorBoard, *, name: str, image: str) -> dict[str, Any]:
    container: dict[str, Any] = {
        "name": name,
        "image": image,
        "command": ["tensorboard", "--logdir", board.log_dir, "--host", "0.0.0.0"],  # noqa: S104 - in a pod of its own
        "ports": [{"containerPort": _PORT}],
    }
    if board.mounts:
        container["volumeMounts"] = list(board.mounts)
    pod: dict[str, Any] = {"containers": [container]}
    if board.volumes:
        pod["volumes"] = list(board.volumes)
    return pod
