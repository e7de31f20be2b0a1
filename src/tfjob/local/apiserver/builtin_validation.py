"""Validation of built-in kinds, with the messages of kube-apiserver.

Rules return faults; none raises, and none reads other objects. Rules that only matter to a kubelet
or a cloud provider are left out.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterable
from typing import Any

from tfjob.k8s import names
from tfjob.k8s.field import duplicate, forbidden, invalid, not_in, required
from tfjob.k8s.pod_validation import label_faults, pod_spec_faults
from tfjob.local.apiserver import metadata, status, workload_validation
from tfjob.local.apiserver.kinds import Kind
from tfjob.local.apiserver.metadata import Faults

Json = dict[str, Any]
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_LONGEST_ANNOTATIONS = 256 * 1024
_PORTS = range(1, 65536)
_POD_CHANGE = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` "
    "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` "
    "(allow it to be set to 1 if it was previously negative)"
)


def metadata_faults(kind: Kind, obj: Json) -> Faults:
    meta = obj["metadata"]
    name = meta.get("name", "")
    faults = metadata.name_required(meta)
    if name:
        faults += [invalid("metadata.name", name, text) for text in _name_problems(kind, name)]
    faults += label_faults(meta)
    faults += _annotation_faults(meta)
    faults += metadata.owner_faults(meta)
    for index, finalizer in enumerate(meta.get("finalizers") or ()):
        problems = names.label_key_problems(finalizer)
        faults += [invalid(f"metadata.finalizers[{index}]", finalizer, text) for text in problems]
    return faults


def _name_problems(kind: Kind, name: str) -> tuple[str, ...]:
    if kind.resource in {"namespaces", "services"}:
        return names.dns1123_label_problems(name)
    return names.dns1123_subdomain_problems(name)


def _annotation_faults(meta: Json) -> Faults:
    annotations = meta.get("annotations") or {}
    faults: Faults = [
        invalid("metadata.annotations", key, text)
        for key in annotations
        for text in names.label_key_problems(key.lower())
    ]
    size = sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items())
    if size > _LONGEST_ANNOTATIONS:
        detail = f"may not be more than {_LONGEST_ANNOTATIONS} bytes"
        faults.append(
            status.FieldError("metadata.annotations", "FieldValueTooLong", f"Too long: {detail}")
        )
    return faults


def content_faults(kind: Kind, obj: Json) -> Faults:
    rule = _BY_KIND.get(kind.kind)
    return rule(obj) if rule else []


def _quota_faults(quota: Json) -> Faults:
    spec = quota.get("spec") or {}
    why = "scopes are not supported by the local API server; remove the field"
    return [forbidden(f"spec.{key}", why) for key in ("scopes", "scopeSelector") if spec.get(key)]


def update_faults(kind: Kind, obj: Json, old: Json) -> Faults:
    faults = metadata.immutable_faults(obj, old)
    if kind.resource == "pods":
        faults += _pod_change_faults(obj, old)
    if kind.resource in {"configmaps", "secrets"} and old.get("immutable"):
        faults += _frozen_data_faults(obj, old)
    if kind.resource == "services":
        faults += _service_change_faults(obj, old)
    if kind.group == "apps":
        faults += workload_validation.fixed_selector_faults(obj, old)
    return faults


def _frozen_data_faults(obj: Json, old: Json) -> Faults:
    why = "field is immutable when `immutable` is set"
    fields = ("immutable", "data", "binaryData", "stringData")
    return [forbidden(field, why) for field in fields if obj.get(field) != old.get(field)]


def _service_change_faults(obj: Json, old: Json) -> Faults:
    before, after = old["spec"].get("clusterIP"), obj["spec"].get("clusterIP")
    is_same_kind = "ExternalName" not in {old["spec"].get("type"), obj["spec"].get("type")}
    if not is_same_kind or not before or before == after:
        return []
    shown = after or ""
    changed = [after] if after else None
    return [
        invalid("spec.clusterIPs[0]", changed, "may not change once set"),
        invalid("spec.clusterIP", shown, "may not change once set"),
    ]


def _pod_change_faults(obj: Json, old: Json) -> Faults:
    if _fixed_part(obj["spec"]) == _fixed_part(old["spec"]):
        return []
    return [forbidden("spec", _POD_CHANGE)]


def _fixed_part(spec: Json) -> Json:
    fixed = {
        key: value
        for key, value in spec.items()
        if key not in {"activeDeadlineSeconds", "tolerations", "schedulingGates"}
    }
    for field in ("containers", "initContainers"):
        if field in fixed:
            fixed[field] = [{k: v for k, v in c.items() if k != "image"} for c in fixed[field]]
    return fixed


def _service(service: Json) -> Faults:
    spec = service.get("spec") or {}
    faults: Faults = []
    types = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
    if spec.get("type") not in types:
        faults.append(not_in("spec.type", spec.get("type"), types))
    ports = spec.get("ports") or []
    if not ports and spec.get("clusterIP") != "None" and spec.get("type") != "ExternalName":
        faults.append(required("spec.ports", ""))
    for index, port in enumerate(ports):
        faults += _service_port_faults(port, f"spec.ports[{index}]", is_only=len(ports) == 1)
    seen: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        pair = (port.get("protocol"), port.get("port"))
        if pair in seen:
            faults.append(duplicate(f"spec.ports[{index}]", {"protocol": pair[0], "port": pair[1]}))
        seen.add(pair)
    return faults


def _service_port_faults(port: Json, path: str, *, is_only: bool) -> Faults:
    faults: Faults = []
    name = port.get("name", "")
    if not name and not is_only:
        faults.append(required(f"{path}.name", ""))
    elif name:
        problems = names.dns1123_label_problems(name)
        faults += [invalid(f"{path}.name", name, text) for text in problems]
    number = port.get("port", 0)
    if number not in _PORTS:
        faults.append(invalid(f"{path}.port", number, "must be between 1 and 65535, inclusive"))
    target = port.get("targetPort")
    if isinstance(target, int) and target not in _PORTS:
        detail = "must be between 1 and 65535, inclusive"
        faults.append(invalid(f"{path}.targetPort", target, detail))
    return faults


def _config_map(config: Json) -> Faults:
    return [
        *_key_faults(config.get("data") or (), "data"),
        *_key_faults(config.get("binaryData") or (), "binaryData"),
    ]


def _key_faults(keys: Iterable[str], path: str) -> Faults:
    detail = (
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
        "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', "
        "regex used for validation is '[-._a-zA-Z0-9]+')"
    )
    return [
        invalid(f"{path}[{key}]", key, detail) for key in keys if not _CONFIG_KEY.fullmatch(key)
    ]


def _secret(secret: Json) -> Faults:
    faults = _key_faults(secret.get("data") or (), "data")
    for key, text in (secret.get("data") or {}).items():
        try:
            base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            faults.append(invalid(f"data[{key}]", text, "must be base64"))
    return faults


def _lease(lease: Json) -> Faults:
    faults: Faults = []
    spec = lease.get("spec") or {}
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        faults.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    changes = spec.get("leaseTransitions")
    if changes is not None and changes < 0:
        faults.append(
            invalid("spec.leaseTransitions", changes, "must be greater than or equal to 0")
        )
    return faults


def _event(event: Json) -> Faults:
    about = (event.get("involvedObject") or {}).get("namespace", "")
    namespace = event["metadata"].get("namespace", "")
    if about != namespace and not (about == "" and namespace == "default"):
        detail = "does not match event.namespace"
        return [invalid("involvedObject.namespace", about, detail)]
    return []


_BY_KIND: dict[str, Callable[[Json], Faults]] = {
    "ResourceQuota": _quota_faults,
    "Pod": lambda pod: [*pod_spec_faults(pod.get("spec") or {}, "spec")],
    "Service": _service,
    "ConfigMap": _config_map,
    "Secret": _secret,
    "Lease": _lease,
    "Job": workload_validation.job_faults,
    "Deployment": workload_validation.pods_faults,
    "ReplicaSet": workload_validation.pods_faults,
    "Event": _event,
}
