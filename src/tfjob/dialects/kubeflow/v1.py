"""kubeflow.org/v1 TFJob: the main dialect and the storage version of TFJobs."""

from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job
from tfjob.dialects.base import NOTHING_BEYOND, BeyondHub, Conversion, Manifest, Settings
from tfjob.dialects.kubeflow import api
from tfjob.dialects.kubeflow import job as kubeflow_job
from tfjob.dialects.kubeflow.dialect import TFJobDialect
from tfjob.k8s.field import Fault


class KubeflowV1(TFJobDialect):
    version = api.VERSION

    def validate(self, manifest: Manifest) -> list[Fault]:
        return kubeflow_job.validate(manifest)

    def decode(
        self, manifest: Manifest, settings: Settings, *, is_checked: bool = False
    ) -> Job | InvalidJob:
        return kubeflow_job.decode(manifest, settings, is_checked=is_checked)

    def to_hub(self, manifest: Manifest, *, target: str = "") -> Conversion:  # noqa: ARG002 - it is the hub
        return Conversion(dict(manifest))

    def from_hub(self, manifest: Manifest, beyond: BeyondHub = NOTHING_BEYOND) -> Conversion:  # noqa: ARG002 - as above
        return Conversion(dict(manifest))
