"""kubeflow.org/v1 TFJob: the main dialect and the storage version of TFJobs."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job, Workload
from tfjob.core.status import JobStatus
from tfjob.dialects.base import (
    NOTHING_BEYOND,
    BeyondHub,
    ChildApi,
    Conversion,
    Manifest,
    Settings,
    StatusContext,
)
from tfjob.dialects.definition import AGE, Names, column, version
from tfjob.dialects.definition import definition as crd_of
from tfjob.dialects.diagnosis_field import WHY
from tfjob.dialects.kubeflow import api, defaults
from tfjob.dialects.kubeflow import job as kubeflow_job
from tfjob.dialects.kubeflow import status as kubeflow_status
from tfjob.dialects.kubeflow.scheduling_policy import pod_groups
from tfjob.dialects.kubeflow.schema import schema
from tfjob.k8s.field import Fault

_NAMES = Names(
    group=api.GROUP,
    kind=api.KIND,
    list_kind=api.LIST_KIND,
    plural=api.PLURAL,
    singular=api.SINGULAR,
    short_names=(api.SHORT_NAME,),
)
_COLUMNS = (column("State", ".status.conditions[-1:].type"), AGE, WHY)
_WORKERS = ".spec.tfReplicaSpecs.Worker"
_WORKERS_STATUS = ".status.replicaStatuses.Worker"
_SUBRESOURCES = {
    "status": {},
    "scale": {
        "specReplicasPath": f"{_WORKERS}.replicas",
        "statusReplicasPath": f"{_WORKERS_STATUS}.active",
        "labelSelectorPath": f"{_WORKERS_STATUS}.selector",
    },
}


class KubeflowV1:
    group = api.GROUP
    version = api.VERSION
    kind = api.KIND
    plural = api.PLURAL
    short_name = api.SHORT_NAME
    component = api.OPERATOR
    workload = Workload.POD
    child_selector = api.CHILD_SELECTOR
    job_label = api.LABEL_JOB
    companions: tuple[ChildApi, ...] = ()
    shows_children = False
    status_fields = kubeflow_status.FIELDS
    generated_fields: frozenset[str] = frozenset()

    def pod_groups(self, settings: Settings) -> ChildApi | None:
        return pod_groups(settings)

    def validate(self, manifest: Manifest) -> list[Fault]:
        return kubeflow_job.validate(manifest)

    def decode(
        self, manifest: Manifest, settings: Settings, *, is_checked: bool = False
    ) -> Job | InvalidJob:
        return kubeflow_job.decode(manifest, settings, is_checked=is_checked)

    def with_status(self, job: Job, manifest: Manifest) -> Job:
        return msgspec.structs.replace(job, status=kubeflow_status.decode(manifest.get("status")))

    def unknown_fields(self, manifest: Manifest) -> list[str]:  # noqa: ARG002 - API servers drop such keys
        return []

    def defaulted_spec(
        self,
        manifest: Manifest,  # noqa: ARG002 - a TFJob's spec stays as its user wrote it
        settings: Settings,  # noqa: ARG002 - as above
        *,
        tokens: Iterator[str],  # noqa: ARG002 - as above
        is_taken: Callable[[str], bool],  # noqa: ARG002 - as above
    ) -> dict[str, Any] | None:
        return None

    def encode_status(
        self,
        job: Job | InvalidJob,  # noqa: ARG002 - other dialects show more than the neutral status
        status: JobStatus,
        observed: StatusContext,  # noqa: ARG002 - as above
    ) -> dict[str, Any]:
        return kubeflow_status.encode(status)

    def to_hub(self, manifest: Manifest, *, target: str = "") -> Conversion:  # noqa: ARG002 - it is the hub
        return Conversion(dict(manifest))

    def from_hub(self, manifest: Manifest, beyond: BeyondHub = NOTHING_BEYOND) -> Conversion:  # noqa: ARG002 - as above
        return Conversion(dict(manifest))

    def crd(self) -> dict[str, Any]:
        return _definition()


def _definition() -> dict[str, Any]:
    """The CRD: one schema and two versions.

    Objects are stored as v1 exactly as written, and v1beta1 fields are interpreted when they are
    read, so no conversion webhook is needed.
    """
    current = _version(api.VERSION, clean_pod_policy=None)
    old = _version(api.OLD_VERSION, clean_pod_policy=defaults.OLD_CLEAN_POD_POLICY)
    old |= {"storage": False, "deprecated": True, "deprecationWarning": api.DEPRECATION}
    return crd_of(_NAMES, [current, old])


def _version(name: str, *, clean_pod_policy: str | None) -> dict[str, Any]:
    own = schema(clean_pod_policy=clean_pod_policy)
    return version(name, own, columns=_COLUMNS, subresources=_SUBRESOURCES)
