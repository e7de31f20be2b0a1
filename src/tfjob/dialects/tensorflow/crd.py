"""The CustomResourceDefinition of TfJobs: one version, no webhook."""

from typing import Any

from tfjob.dialects.definition import AGE, Names, column, version
from tfjob.dialects.definition import definition as define
from tfjob.dialects.diagnosis_field import WHY
from tfjob.dialects.tensorflow import api
from tfjob.dialects.tensorflow.schema import schema

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


def definition() -> dict[str, Any]:
    return define(_NAMES, [version(api.VERSION, schema(), columns=_COLUMNS)])
