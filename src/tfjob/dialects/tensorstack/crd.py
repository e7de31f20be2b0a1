"""The CustomResourceDefinition of TensorFlowTrainingJobs: one version, no webhook."""

from typing import Any

from tfjob.dialects.definition import AGE, Names, column, version
from tfjob.dialects.definition import definition as define
from tfjob.dialects.diagnosis_field import WHY
from tfjob.dialects.tensorstack import api
from tfjob.dialects.tensorstack.schema import schema

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


def definition() -> dict[str, Any]:
    return define(_NAMES, [version(api.VERSION, schema(), columns=_COLUMNS)])
