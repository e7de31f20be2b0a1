"""The definition that makes an API server know TfJobs: one version, no webhook."""

from typing import Any

from tfjob.dialects.definition import AGE, Names, column, version
from tfjob.dialects.definition import definition as define
from tfjob.dialects.tensorflow import words
from tfjob.dialects.tensorflow.schema import schema

_NAMES = Names(
    group=words.GROUP,
    kind=words.KIND,
    list_kind=words.LIST_KIND,
    plural=words.PLURAL,
    singular=words.SINGULAR,
    short_names=(words.SHORT_NAME,),
)
_COLUMNS = (
    column("State", ".status.state"),
    column("Phase", ".status.phase"),
    column("RuntimeId", ".spec.RuntimeId"),
    AGE,
)


def definition() -> dict[str, Any]:
    return define(_NAMES, [version(words.VERSION, schema(), columns=_COLUMNS)])
