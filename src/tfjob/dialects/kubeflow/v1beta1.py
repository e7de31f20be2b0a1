"""kubeflow.org/v1beta1 TFJob: the older version, converted to v1 when it is read.

Its jobs are stored and run as v1; only manifests in files differ.
"""

from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job
from tfjob.dialects.base import NOTHING_BEYOND, BeyondHub, Conversion, Manifest, Settings
from tfjob.dialects.kubeflow import api
from tfjob.dialects.kubeflow import job as kubeflow_job
from tfjob.dialects.kubeflow.conversion import down, origins, up
from tfjob.dialects.kubeflow.v1 import KubeflowV1


class KubeflowV1beta1(KubeflowV1):
    version = api.OLD_VERSION

    def decode(
        self, manifest: Manifest, settings: Settings, *, is_checked: bool = False
    ) -> Job | InvalidJob:
        return kubeflow_job.decode(up(manifest), settings, is_checked=is_checked)

    def to_hub(self, manifest: Manifest, *, target: str = "") -> Conversion:  # noqa: ARG002 - it loses nothing
        return Conversion(dict(up(manifest)), origins=origins(manifest))

    def from_hub(self, manifest: Manifest, beyond: BeyondHub = NOTHING_BEYOND) -> Conversion:  # noqa: ARG002 - as above
        return Conversion(dict(down(manifest)))
