"""kubeflow.org/v1 TFJob: the main dialect, and the version in which jobs are stored."""

from typing import Any

from tfjob.core.invalid import InvalidJob
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.status import JobStatus
from tfjob.dialects.base import Manifest, Settings
from tfjob.dialects.kubeflow import crd as kubeflow_crd
from tfjob.dialects.kubeflow import job as kubeflow_job
from tfjob.dialects.kubeflow import status as kubeflow_status
from tfjob.dialects.kubeflow import words
from tfjob.k8s.field import Fault


class KubeflowV1:
    group = words.GROUP
    version = words.VERSION
    kind = words.KIND
    plural = words.PLURAL
    child_selector = words.CHILD_SELECTOR
    job_label = words.LABEL_JOB

    def validate(self, manifest: Manifest) -> list[Fault]:
        return kubeflow_job.validate(manifest)

    def decode(self, manifest: Manifest, settings: Settings) -> Job | InvalidJob:
        return kubeflow_job.decode(manifest, settings)

    def encode_status(
        self,
        job: Job | InvalidJob,  # noqa: ARG002 - other dialects show more than the neutral status
        status: JobStatus,
        children: Children,  # noqa: ARG002 - as above
    ) -> dict[str, Any]:
        return kubeflow_status.encode(status)

    def crd(self) -> dict[str, Any]:
        return kubeflow_crd.definition()
