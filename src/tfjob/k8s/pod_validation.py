"""Validates pod specs, also those in templates, with the messages of kube-apiserver.

Rules return faults and never raise. They do not read other objects.
"""

from collections.abc import Sequence
from typing import Any

from tfjob.k8s import names, quantity
from tfjob.k8s.field import Fault, duplicate, invalid, not_found, not_in, required
from tfjob.k8s.quantity import Quantity

Json = dict[str, Any]
Faults = list[Fault]
_PORTS = range(1, 65536)
_OVERCOMMITTED = frozenset({"cpu", "memory", "ephemeral-storage"})
_ONE = 10**9
"""One unit, in those of a quantity."""


def pod_spec_faults(spec: Json, path: str) -> Faults:
    faults: Faults = []
    volumes = [volume.get("name", "") for volume in spec.get("volumes") or ()]
    faults += _named_faults(volumes, f"{path}.volumes")
    if not spec.get("containers"):
        faults.append(required(f"{path}.containers", ""))
    seen: set[str] = set()
    for field in ("containers", "initContainers"):
        containers = spec.get(field) or []
        for index, container in enumerate(containers):
            at = f"{path}.{field}[{index}]"
            faults += _container_faults(container, at, volumes=set(volumes))
            name = container.get("name")
            if name and name in seen:
                faults.append(duplicate(f"{at}.name", name))
            seen.add(name or "")
    faults += _policy_faults(spec, path)
    return faults


def _policy_faults(spec: Json, path: str) -> Faults:
    faults: Faults = []
    closed = {
        "restartPolicy": ("Always", "OnFailure", "Never"),
        "dnsPolicy": ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
    }
    for field, allowed in closed.items():
        value = spec.get(field)
        if value is not None and value not in allowed:
            faults.append(not_in(f"{path}.{field}", value, allowed))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline < 2**31:
        detail = "must be between 1 and 2147483647, inclusive"
        faults.append(invalid(f"{path}.activeDeadlineSeconds", deadline, detail))
    return faults


def _named_faults(found: list[str], path: str) -> Faults:
    faults: Faults = []
    seen: set[str] = set()
    for index, name in enumerate(found):
        at = f"{path}[{index}].name"
        if not name:
            faults.append(required(at, ""))
        elif name in seen:
            faults.append(duplicate(at, name))
        else:
            faults += [invalid(at, name, text) for text in names.dns1123_label_problems(name)]
        seen.add(name)
    return faults


def _container_faults(container: Json, path: str, *, volumes: set[str]) -> Faults:
    faults: Faults = []
    name = container.get("name", "")
    if not name:
        faults.append(required(f"{path}.name", ""))
    else:
        problems = names.dns1123_label_problems(name)
        faults += [invalid(f"{path}.name", name, text) for text in problems]
    if not container.get("image"):
        faults.append(required(f"{path}.image", ""))
    faults += _ports_faults(container.get("ports") or (), f"{path}.ports")
    for index, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            faults.append(required(f"{path}.env[{index}].name", ""))
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        faults += _mount_faults(mount, f"{path}.volumeMounts[{index}]", volumes=volumes)
    faults += _resource_faults(container.get("resources") or {}, f"{path}.resources")
    allowed = ("Always", "IfNotPresent", "Never")
    policy = container.get("imagePullPolicy")
    if policy is not None and policy not in allowed:
        faults.append(not_in(f"{path}.imagePullPolicy", policy, allowed))
    return faults


def _ports_faults(ports: Sequence[Json], path: str) -> Faults:
    faults: Faults = []
    seen: set[str] = set()
    for index, port in enumerate(ports):
        at, name = f"{path}[{index}]", port.get("name", "")
        problems = names.port_name_problems(name) if name else ()
        faults += [invalid(f"{at}.name", name, text) for text in problems]
        if name and not problems and name in seen:
            faults.append(duplicate(f"{at}.name", name))
        seen.add(name)
        faults += _container_port_faults(port, at)
    return faults


def _container_port_faults(port: Json, path: str) -> Faults:
    number = port.get("containerPort")
    faults: Faults = []
    if not number:
        faults.append(required(f"{path}.containerPort", ""))
    elif number not in _PORTS:
        faults.append(
            invalid(f"{path}.containerPort", number, "must be between 1 and 65535, inclusive")
        )
    protocol = port.get("protocol", "TCP")
    if protocol not in {"TCP", "UDP", "SCTP"}:
        faults.append(not_in(f"{path}.protocol", protocol, ("SCTP", "TCP", "UDP")))
    return faults


def _mount_faults(mount: Json, path: str, *, volumes: set[str]) -> Faults:
    faults: Faults = []
    if not mount.get("name"):
        faults.append(required(f"{path}.name", ""))
    elif mount["name"] not in volumes:
        faults.append(not_found(f"{path}.name", mount["name"]))
    if not mount.get("mountPath"):
        faults.append(required(f"{path}.mountPath", ""))
    return faults


def _resource_faults(resources: Json, path: str) -> Faults:
    faults: Faults = []
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, text in limits.items():
        faults += _amount_faults(name, quantity.parse(text), f"{path}.limits[{name}]")
    for name, text in requests.items():
        amount, limit = quantity.parse(text), quantity.parse(limits.get(name, ""))
        faults += _amount_faults(name, amount, f"{path}.requests[{name}]")
        if amount is not None:
            faults += _request_faults(name, amount, limit, path)
    return faults


def _amount_faults(name: str, amount: Quantity | None, path: str) -> Faults:
    problems = [*names.label_key_problems(name)]
    if "/" not in name and not _is_standard(name):
        problems.append("must be a standard resource type or fully qualified")
        problems.append("must be a standard resource for containers")
    elif problems:
        problems.append("doesn't follow extended resource name standard")
    faults = [invalid(path, name, text) for text in problems]
    if amount is not None and amount.nano < 0:
        faults.append(invalid(path, amount.render(), "must be greater than or equal to 0"))
    elif amount is not None and _is_extended(name) and amount.nano % _ONE:
        faults.append(invalid(path, amount.render(), "must be an integer"))
    return faults


def _request_faults(name: str, amount: Quantity, limit: Quantity | None, path: str) -> Faults:
    """Devices and huge pages are not overcommitted: their limit is the request."""
    may_differ = name in _OVERCOMMITTED or "kubernetes.io/" in name
    if limit is None:
        detail = "Limit must be set for non overcommitable resources"
        return [] if may_differ else [required(f"{path}.limits", detail)]
    if may_differ and limit < amount:
        detail = f"must be less than or equal to {name} limit of {limit.render()}"
    elif not may_differ and limit != amount:
        detail = f"must be equal to {name} limit of {limit.render()}"
    else:
        return []
    return [invalid(f"{path}.requests", amount.render(), detail)]


def _is_standard(name: str) -> bool:
    return name in _OVERCOMMITTED or name.startswith("hugepages-")


def _is_extended(name: str) -> bool:
    return "/" in name and "kubernetes.io/" not in name


def label_faults(meta: Json, path: str = "metadata") -> Faults:
    """Faults of the labels of an object or a pod template."""
    faults: Faults = []
    for key, value in (meta.get("labels") or {}).items():
        problems = names.label_key_problems(key)
        faults += [invalid(f"{path}.labels", key, text) for text in problems]
        problems = names.label_value_problems(value)
        faults += [invalid(f"{path}.labels", value, text) for text in problems]
    return faults
