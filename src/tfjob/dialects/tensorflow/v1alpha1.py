"""tensorflow.org/v1alpha1 TfJob: the oldest API, which runs each replica as a batch Job."""

from collections.abc import Callable, Iterator
from typing import Any

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
from tfjob.dialects.tensorflow import api, conversion, defaults
from tfjob.dialects.tensorflow import job as tf_job
from tfjob.dialects.tensorflow import status as tf_status
from tfjob.dialects.tensorflow.key_aliases import unknown_fields
from tfjob.dialects.tensorflow.schema import schema
from tfjob.k8s.field import Fault

CONFIG_MAPS = ChildApi(kind="ConfigMap", group="", version="v1", plural="configmaps")
DEPLOYMENTS = ChildApi(kind="Deployment", group="apps", version="v1", plural="deployments")

_NAMES = Names(
    group=api.GROUP,
    kind=api.KIND,
    list_kind=api.LIST_KIND,
    plural=api.PLURAL,
    singular=api.SINGULAR,
    short_names=(api.SHORT_NAME,),
)
_COLUMNS = (
    column("State", ".status.state"),
    column("Phase", ".status.phase"),
    column("RuntimeId", ".spec.RuntimeId"),
    AGE,
    WHY,
)


class TensorflowV1alpha1:
    group = api.GROUP
    version = api.VERSION
    kind = api.KIND
    plural = api.PLURAL
    short_name = api.SHORT_NAME
    component = api.OPERATOR
    workload = Workload.JOB
    child_selector = api.CHILD_SELECTOR
    job_label = api.LABEL_JOB
    companions = (CONFIG_MAPS, DEPLOYMENTS)
    shows_children = True
    status_fields = tf_status.FIELDS
    generated_fields = frozenset({"RuntimeId"})

    def pod_groups(
        self,
        settings: Settings,  # noqa: ARG002 - this API has no gang scheduling
    ) -> ChildApi | None:
        return None

    def validate(self, manifest: Manifest) -> list[Fault]:
        return tf_job.validate(manifest)

    def decode(
        self, manifest: Manifest, settings: Settings, *, is_checked: bool = False
    ) -> Job | InvalidJob:
        return tf_job.decode(manifest, settings, is_checked=is_checked)

    def with_status(self, job: Job, manifest: Manifest) -> None:  # noqa: ARG002 - the clean policy depends on the status
        return None

    def unknown_fields(self, manifest: Manifest) -> list[str]:
        return unknown_fields(manifest)

    def defaulted_spec(
        self,
        manifest: Manifest,
        settings: Settings,
        *,
        tokens: Iterator[str],
        is_taken: Callable[[str], bool],
    ) -> dict[str, Any] | None:
        return defaults.defaulted_spec(manifest, settings, tokens=tokens, is_taken=is_taken)

    def encode_status(
        self, job: Job | InvalidJob, status: JobStatus, observed: StatusContext
    ) -> dict[str, Any]:
        return tf_status.encode(job, status, observed)

    def to_hub(self, manifest: Manifest, *, target: str = "") -> Conversion:
        return conversion.to_hub(manifest, target=target)

    def from_hub(self, manifest: Manifest, beyond: BeyondHub = NOTHING_BEYOND) -> Conversion:
        return conversion.from_hub(manifest, beyond)

    def crd(self) -> dict[str, Any]:
        return crd_of(_NAMES, [version(api.VERSION, schema(), columns=_COLUMNS)])
