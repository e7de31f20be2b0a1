"""Table rows of built-in kinds, with the columns of kube-apiserver.

Pure functions of an object; a missing or malformed field gives an empty or unknown cell.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from tfjob.k8s import time
from tfjob.local.apiserver.duration import UNKNOWN, short, since
from tfjob.local.apiserver.pod_printer import pod_row
from tfjob.local.apiserver.selector import SelectorError, labels_from_object

Json = dict[str, Any]
Row = list[Any]
NONE = "<none>"


def _age(obj: Json, now: datetime) -> str:
    return since(obj["metadata"].get("creationTimestamp"), now)


def plain(obj: Json, now: datetime) -> Row:
    return [obj["metadata"]["name"], _age(obj, now)]


def _config_map(obj: Json, now: datetime) -> Row:
    count = len(obj.get("data") or {}) + len(obj.get("binaryData") or {})
    return [obj["metadata"]["name"], count, _age(obj, now)]


def _secret(obj: Json, now: datetime) -> Row:
    return [
        obj["metadata"]["name"],
        obj.get("type", ""),
        len(obj.get("data") or {}),
        _age(obj, now),
    ]


def _namespace(obj: Json, now: datetime) -> Row:
    return [obj["metadata"]["name"], (obj.get("status") or {}).get("phase", ""), _age(obj, now)]


def _pairs(labels: Json | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def _selector(selector: object) -> str:
    try:
        return labels_from_object(selector or {}).render() or NONE
    except SelectorError:
        return NONE


def _service(obj: Json, now: datetime) -> Row:
    spec = obj.get("spec") or {}
    ports = ",".join(_port(port) for port in spec.get("ports") or ()) or NONE
    return [
        obj["metadata"]["name"],
        spec.get("type", ""),
        spec.get("clusterIP") or NONE,
        _external_address(obj),
        ports,
        _age(obj, now),
        _pairs(spec.get("selector")),
    ]


def _external_address(service: Json) -> str:
    spec = service.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    given = [each.get("ip") or each.get("hostname") for each in balancer.get("ingress") or ()]
    addresses = [*sorted(filter(None, given)), *(spec.get("externalIPs") or ())]
    absent = "<pending>" if spec.get("type") == "LoadBalancer" else NONE
    return ",".join(addresses) or absent


def _port(port: Json) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node}/{port.get('protocol', 'TCP')}"


def _event(obj: Json, now: datetime) -> Row:
    about = obj.get("involvedObject") or {}
    source = obj.get("source") or {}
    component = source.get("component") or obj.get("reportingComponent") or ""
    host = source.get("host") or obj.get("reportingInstance") or ""
    first = obj.get("firstTimestamp") or obj.get("eventTime")
    series = obj.get("series") or {}
    last = series.get("lastObservedTime") or obj.get("lastTimestamp") or first
    return [
        since(last, now),
        obj.get("type", ""),
        obj.get("reason", ""),
        "/".join(filter(None, (about.get("kind", "").lower(), about.get("name")))),
        about.get("fieldPath", ""),
        f"{component}, {host}" if host else component,
        (obj.get("message") or "").strip(),
        since(first, now),
        series.get("count") or obj.get("count") or 1,
        obj["metadata"]["name"],
    ]


def _lease(obj: Json, now: datetime) -> Row:
    return [
        obj["metadata"]["name"],
        (obj.get("spec") or {}).get("holderIdentity", ""),
        _age(obj, now),
    ]


def _containers(spec: Json) -> tuple[str, str]:
    containers = spec.get("containers") or ()
    names = ",".join(container.get("name", "") for container in containers)
    return names, ",".join(container.get("image", "") for container in containers)


def _job(obj: Json, now: datetime) -> Row:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    names, images = _containers((spec.get("template") or {}).get("spec") or {})
    return [
        obj["metadata"]["name"],
        _job_state(obj),
        _job_completions(spec, done=status.get("succeeded") or 0),
        _job_duration(status, now),
        _age(obj, now),
        names,
        images,
        _selector(spec.get("selector")),
    ]


def _job_completions(spec: Json, *, done: int) -> str:
    if spec.get("completions") is not None:
        return f"{done}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _job_state(obj: Json) -> str:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    true = {c.get("type") for c in conditions if c.get("status") == "True"}
    if "deletionTimestamp" in obj["metadata"]:
        true.add("Terminating")
    for state in _JOB_STATES:
        if state in true:
            return state
    return "Running"


_JOB_STATES = (
    "Complete",
    "Failed",
    "Terminating",
    "Suspended",
    "FailureTarget",
    "SuccessCriteriaMet",
)
"""In order of precedence."""


def _job_duration(status: Json, now: datetime) -> str:
    start = time.parse(status.get("startTime"))
    if start is None:
        return ""
    end = time.parse(status.get("completionTime")) or now
    return short((end - start).total_seconds())


def _deployment(obj: Json, now: datetime) -> Row:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    names, images = _containers((spec.get("template") or {}).get("spec") or {})
    return [
        obj["metadata"]["name"],
        f"{status.get('readyReplicas') or 0}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas") or 0,
        status.get("availableReplicas") or 0,
        _age(obj, now),
        names,
        images,
        _selector(spec.get("selector")),
    ]


def _replica_set(obj: Json, now: datetime) -> Row:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    names, images = _containers((spec.get("template") or {}).get("spec") or {})
    return [
        obj["metadata"]["name"],
        spec.get("replicas", 0),
        status.get("replicas") or 0,
        status.get("readyReplicas") or 0,
        _age(obj, now),
        names,
        images,
        _selector(spec.get("selector")),
    ]


def _node(obj: Json, now: datetime) -> Row:
    status = obj.get("status") or {}
    conditions = {c.get("type"): c.get("status") for c in status.get("conditions") or ()}
    ready = "Unknown"
    if "Ready" in conditions:
        ready = "Ready" if conditions["Ready"] == "True" else "NotReady"
    if (obj.get("spec") or {}).get("unschedulable"):
        ready += ",SchedulingDisabled"
    prefix = "node-role.kubernetes.io/"
    roles = [
        k.removeprefix(prefix) for k in obj["metadata"].get("labels") or {} if k.startswith(prefix)
    ]
    info = status.get("nodeInfo") or {}
    addresses = {a.get("type"): a.get("address") for a in status.get("addresses") or ()}
    return [
        obj["metadata"]["name"],
        ready,
        ",".join(sorted(roles)) or NONE,
        _age(obj, now),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP") or NONE,
        addresses.get("ExternalIP") or NONE,
        info.get("osImage") or UNKNOWN,
        info.get("kernelVersion") or UNKNOWN,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _claim(obj: Json, now: datetime) -> Row:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    letters = {
        "ReadWriteOnce": "RWO",
        "ReadOnlyMany": "ROX",
        "ReadWriteMany": "RWX",
        "ReadWriteOncePod": "RWOP",
    }
    phase = "Terminating" if "deletionTimestamp" in obj["metadata"] else status.get("phase", "")
    is_bound = bool(spec.get("volumeName"))
    modes = ",".join(letters.get(mode, mode) for mode in status.get("accessModes") or ())
    return [
        obj["metadata"]["name"],
        phase,
        spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", "") if is_bound else "",
        modes if is_bound else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or "<unset>",
        _age(obj, now),
        spec.get("volumeMode") or "<unset>",
    ]


def _quota(obj: Json, now: datetime) -> Row:
    state = obj.get("status") or {}
    hard, used = state.get("hard") or {}, state.get("used") or {}
    shown = {name: f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard)}
    limits = [text for name, text in shown.items() if name.startswith("limits")]
    others = [text for name, text in shown.items() if not name.startswith("limits")]
    return [obj["metadata"]["name"], ", ".join(others), ", ".join(limits), _age(obj, now)]


def _priority_class(obj: Json, now: datetime) -> Row:
    return [
        obj["metadata"]["name"],
        obj.get("value", 0),
        bool(obj.get("globalDefault")),
        _age(obj, now),
        obj.get("preemptionPolicy", ""),
    ]


def _definition_row(obj: Json, now: datetime) -> Row:
    del now
    return [obj["metadata"]["name"], obj["metadata"].get("creationTimestamp")]


def _endpoints(obj: Json, now: datetime) -> Row:
    return [obj["metadata"]["name"], NONE, _age(obj, now)]


PLAIN = "Name | Age"
BUILT_IN: dict[str, tuple[str, Callable[[Json, datetime], Row]]] = {
    "ConfigMap": ("Name | Data | Age", _config_map),
    "CustomResourceDefinition": ("Name | Created At:date", _definition_row),
    "Deployment": (
        "Name | Ready | Up-to-date | Available | Age | Containers+ | Images+ | Selector+",
        _deployment,
    ),
    "Endpoints": ("Name | Endpoints | Age", _endpoints),
    "Event": (
        (
            "Last Seen | Type | Reason | Object | Subobject+ | Source+ | Message | "
            "First Seen+ | Count+ | Name+"
        ),
        _event,
    ),
    "Job": (
        "Name | Status | Completions | Duration | Age | Containers+ | Images+ | Selector+",
        _job,
    ),
    "Lease": ("Name | Holder | Age", _lease),
    "Namespace": ("Name | Status | Age", _namespace),
    "Node": (
        (
            "Name | Status | Roles | Age | Version | Internal-IP+ | External-IP+ | OS-Image+ | "
            "Kernel-Version+ | Container-Runtime+"
        ),
        _node,
    ),
    "PersistentVolumeClaim": (
        (
            "Name | Status | Volume | Capacity | Access Modes | StorageClass | "
            "VolumeAttributesClass | Age | VolumeMode+"
        ),
        _claim,
    ),
    "Pod": (
        "Name | Ready | Status | Restarts | Age | IP+ | Node+ | Nominated Node+ | Readiness Gates+",
        pod_row,
    ),
    "PriorityClass": (
        "Name | Value:integer | Global-Default:boolean | Age | PreemptionPolicy",
        _priority_class,
    ),
    "ResourceQuota": ("Name | Request | Limit | Age", _quota),
    "ReplicaSet": (
        (
            "Name | Desired:integer | Current:integer | Ready:integer | Age | "
            "Containers+ | Images+ | Selector+"
        ),
        _replica_set,
    ),
    "Secret": ("Name | Type | Data | Age", _secret),
    "Service": ("Name | Type | Cluster-IP | External-IP | Port(s) | Age | Selector+", _service),
}
