"""Validation of Jobs, Deployments and ReplicaSets, with the messages of kube-apiserver.

Rules return faults; none raises, and none reads other objects.
"""

from typing import Any

from tfjob.k8s.field import invalid, not_in, required
from tfjob.k8s.pod_validation import pod_spec_faults
from tfjob.local.apiserver.metadata import Faults
from tfjob.local.apiserver.selector import SelectorError, labels_from_object

Json = dict[str, Any]
_TEMPLATE = "spec.template.spec"


def job_faults(job: Json) -> Faults:
    spec = job.get("spec") or {}
    fields = ("parallelism", "completions", "backoffLimit", "ttlSecondsAfterFinished")
    faults = _negative_faults(spec, fields)
    template = (spec.get("template") or {}).get("spec") or {}
    faults += pod_spec_faults(template, _TEMPLATE)
    if template.get("restartPolicy") == "Always":
        allowed = 'valid values: "OnFailure", "Never"'
        faults.append(required(f"{_TEMPLATE}.restartPolicy", allowed))
    return faults


def pods_faults(owner: Json) -> Faults:
    """Faults of a Deployment or a ReplicaSet."""
    spec = owner.get("spec") or {}
    template = spec.get("template") or {}
    faults = _negative_faults(spec, ("replicas", "minReadySeconds"))
    faults += _selector_faults(spec.get("selector"), template)
    faults += pod_spec_faults(template.get("spec") or {}, _TEMPLATE)
    policy = (template.get("spec") or {}).get("restartPolicy", "Always")
    if policy in {"Never", "OnFailure"}:
        faults.append(not_in(f"{_TEMPLATE}.restartPolicy", policy, ("Always",)))
    return faults


def fixed_selector_faults(owner: Json, old: Json) -> Faults:
    """The selector of a Deployment or a ReplicaSet is immutable."""
    selector, before = (one["spec"].get("selector") for one in (owner, old))
    if selector == before:
        return []
    return [invalid("spec.selector", selector, "field is immutable")]


def _negative_faults(spec: Json, fields: tuple[str, ...]) -> Faults:
    return [
        invalid(f"spec.{field}", spec[field], "must be greater than or equal to 0")
        for field in fields
        if isinstance(spec.get(field), int) and spec[field] < 0
    ]


def _selector_faults(selector: Json | None, template: Json) -> Faults:
    labels = (template.get("metadata") or {}).get("labels") or {}
    detail = "`selector` does not match template `labels`"
    mismatch = invalid("spec.template.metadata.labels", labels, detail)
    if not selector:
        return [required("spec.selector", ""), mismatch]
    try:
        is_match = labels_from_object(selector).matches(labels)
    except SelectorError as error:
        return [invalid("spec.selector", selector, str(error))]
    return [] if is_match else [mismatch]
