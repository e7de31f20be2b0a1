"""batch.tensorstack.dev/v1beta1 TensorFlowTrainingJob: the API of the T9k platform."""

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
from tfjob.dialects.tensorstack import api, conversion, tensorboard
from tfjob.dialects.tensorstack import job as tensorstack_job
from tfjob.dialects.tensorstack import status as tensorstack_status
from tfjob.dialects.tensorstack.schema import schema
from tfjob.dialects.tensorstack.t9k_scheduler import backend_of, pod_groups
from tfjob.k8s.field import Fault

_NAMES = Names(
    group=api.GROUP,
    kind=api.KIND,
    list_kind=api.LIST_KIND,
    plural=api.PLURAL,
    singular=api.SINGULAR,
    short_names=(api.SHORT_NAME,),
)
_COLUMNS = (
    column("Phase", ".status.phase"),
    column("Running", ".status.aggregate.running", kind="integer"),
    column("Failed", ".status.aggregate.failed", kind="integer"),
    column("Restarts", ".status.backoffCount", kind="integer"),
    AGE,
    column("Queue", ".spec.scheduler.t9kScheduler.queue", is_wide=True),
    WHY,
)


class TensorStackV1beta1:
    group = api.GROUP
    version = api.VERSION
    kind = api.KIND
    plural = api.PLURAL
    short_name = api.SHORT_NAME
    component = api.OPERATOR
    workload = Workload.POD
    child_selector = api.CHILD_SELECTOR
    job_label = api.LABEL_JOB
    companions: tuple[ChildApi, ...] = (tensorboard.OWN, tensorboard.VENDOR)
    shows_children = True
    status_fields = tensorstack_status.FIELDS
    generated_fields: frozenset[str] = frozenset()

    def pod_groups(self, settings: Settings) -> ChildApi | None:
        return pod_groups(backend_of(settings))

    def validate(self, manifest: Manifest) -> list[Fault]:
        return tensorstack_job.validate(manifest)

    def decode(
        self, manifest: Manifest, settings: Settings, *, is_checked: bool = False
    ) -> Job | InvalidJob:
        return tensorstack_job.decode(manifest, settings, is_checked=is_checked)

    def with_status(self, job: Job, manifest: Manifest) -> None:  # noqa: ARG002 - companions depend on the status
        return None

    def unknown_fields(self, manifest: Manifest) -> list[str]:  # noqa: ARG002 - API servers drop such keys
        return []

    def defaulted_spec(
        self,
        manifest: Manifest,  # noqa: ARG002 - defaults are applied in memory and never stored
        settings: Settings,  # noqa: ARG002 - as above
        *,
        tokens: Iterator[str],  # noqa: ARG002 - as above
        is_taken: Callable[[str], bool],  # noqa: ARG002 - as above
    ) -> dict[str, Any] | None:
        return None

    def encode_status(
        self, job: Job | InvalidJob, status: JobStatus, observed: StatusContext
    ) -> dict[str, Any]:
        return tensorstack_status.encode(job, status, observed)

    def to_hub(self, manifest: Manifest, *, target: str = "") -> Conversion:
        return conversion.to_hub(manifest, target=target)

    def from_hub(self, manifest: Manifest, beyond: BeyondHub = NOTHING_BEYOND) -> Conversion:
        return conversion.from_hub(manifest, beyond)

    def crd(self) -> dict[str, Any]:
        return crd_of(_NAMES, [version(api.VERSION, schema(), columns=_COLUMNS)])
