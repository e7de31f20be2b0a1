"""The definition that makes an API server know TensorFlowTrainingJobs: one version, no webhook."""

from typing import Any

from tfjob.dialects.definition import AGE, Names, column, version
from tfjob.dialects.definition import definition as define
from tfjob.dialects.tensorstack import words
from tfjob.dialects.tensorstack.schema import schema

_NAMES = Names(
    group=words.GROUP,
    kind=words.KIND,
    list_kind=words.LIST_KIND,
    plural=words.PLURAL,
    singular=words.SINGULAR,
    short_names=(words.SHORT_NAME,),
)
_COLUMNS = (
    column("Phase", ".status.phase"),
    column("Running", ".status.aggregate.running", kind="integer"),
    column("Failed", ".status.aggregate.failed", kind="integer"),
    column("Restarts", ".status.backoffCount", kind="integer"),
    AGE,
    column("Queue", ".spec.scheduler.t9kScheduler.queue", is_wide=True),
)


def definition() -> dict[str, Any]:
    return define(_NAMES, [version(words.VERSION, schema(), columns=_COLUMNS)])
