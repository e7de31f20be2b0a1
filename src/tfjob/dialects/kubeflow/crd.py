"""The CustomResourceDefinition of TFJobs: one schema, two versions, no webhook.

Objects are stored as v1 exactly as written, and v1beta1 fields are interpreted when they are read,
so no conversion can fail.
"""

from typing import Any

from tfjob.dialects.definition import AGE, Names, column, version
from tfjob.dialects.definition import definition as define
from tfjob.dialects.diagnosis_field import WHY
from tfjob.dialects.kubeflow import api
from tfjob.dialects.kubeflow.schema import schema

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


def definition() -> dict[str, Any]:
    current = _version(api.VERSION, clean_pod_policy=None)
    old = _version(api.OLD_VERSION, clean_pod_policy=api.OLD_CLEAN_POLICY)
    old |= {"storage": False, "deprecated": True, "deprecationWarning": api.DEPRECATION}
    return define(_NAMES, [current, old])


def _version(name: str, *, clean_pod_policy: str | None) -> dict[str, Any]:
    own = schema(clean_pod_policy=clean_pod_policy)
    return version(name, own, columns=_COLUMNS, subresources=_SUBRESOURCES)
