"""Defaults of the built-in kinds, as far as clients see them.

Functions set what a client left out and change nothing else. Defaults that depend on other objects
(cluster IPs, priorities) are set in admission.
"""

from collections.abc import Callable
from typing import Any

from tfjob.k8s import quantity

Json = dict[str, Any]

_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def apply_defaults(kind: str, obj: Json) -> None:
    """Set the defaults of a kind, in place."""
    default = _BY_KIND.get(kind)
    if default is not None:
        default(obj)


def pod_spec(spec: Json) -> None:
    """Set the defaults of a pod spec, also in a template."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            _container(container)
    for volume in spec.get("volumes") or ():
        _volume(volume)
    if "serviceAccountName" in spec or "serviceAccount" in spec:
        name = spec.get("serviceAccountName") or spec.get("serviceAccount")
        spec["serviceAccountName"] = spec["serviceAccount"] = name
    _drop_empty(spec)


def _drop_empty(spec: Json) -> None:
    """Drop empty lists, maps and strings and false, as Go's omitempty does; zero is kept."""
    empty = [k for k, v in spec.items() if v is False or v in ([], {}, "")]
    for key in [key for key in empty if key != "securityContext"]:
        if key not in {
            "enableServiceLinks",
            "automountServiceAccountToken",
            "shareProcessNamespace",
            "hostUsers",
        }:
            del spec[key]


def _container(container: Json) -> None:
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    _references(container)
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe in container:
            _probe(container[probe])
    limits = container["resources"].get("limits") or {}
    if limits:
        requests = container["resources"].setdefault("requests", {})
        for name, amount in limits.items():
            requests.setdefault(name, amount)
    for key in ("args", "command", "env", "envFrom", "ports", "volumeMounts"):
        if container.get(key) == []:
            del container[key]


def _references(container: Json) -> None:
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        if "fieldRef" in source:
            source["fieldRef"].setdefault("apiVersion", "v1")
        if "resourceFieldRef" in source:
            source["resourceFieldRef"].setdefault("divisor", "0")


def _probe(probe: Json) -> None:
    for field, value in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        probe.setdefault(field, value)
    if "httpGet" in probe:
        probe["httpGet"].setdefault("path", "/")
        probe["httpGet"].setdefault("scheme", "HTTP")


def _pull_policy(image: str) -> str:
    """Always for a tag that can move, else IfNotPresent."""
    name = image.rpartition("/")[2]
    if "@" in name:
        return "IfNotPresent"
    tag = name.partition(":")[2] or "latest"
    return "Always" if tag == "latest" else "IfNotPresent"


def _volume(volume: Json) -> None:
    for source in ("configMap", "secret", "downwardAPI", "projected"):
        if isinstance(volume.get(source), dict):
            volume[source].setdefault("defaultMode", 420)
    if isinstance(volume.get("hostPath"), dict):
        volume["hostPath"].setdefault("type", "")
    if set(volume) == {"name"}:
        volume["emptyDir"] = {}


def _pod(pod: Json) -> None:
    spec = pod.setdefault("spec", {})
    pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    spec.setdefault("serviceAccountName", "default")
    spec["serviceAccount"] = spec["serviceAccountName"]
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    _tolerations(spec)
    status = {"phase": "Pending", "qosClass": qos_class(spec)}
    pod["status"] = status


def pod_status(status: Json) -> None:
    """Conditions always have their time fields, even if unknown."""
    for condition in status.get("conditions") or ():
        condition.setdefault("lastProbeTime", None)
        condition.setdefault("lastTransitionTime", None)


def _tolerations(spec: Json) -> None:
    present = spec.setdefault("tolerations", [])
    for key in _TOLERATED:
        if not any(_tolerates(item, key) for item in present):
            toleration = {"key": key, "operator": "Exists", "effect": "NoExecute"}
            present.append({**toleration, "tolerationSeconds": 300})


def _tolerates(item: Json, key: str) -> bool:
    is_effect = item.get("effect") in (None, "", "NoExecute")
    is_key = item.get("key") in (None, "", key)
    return is_effect and is_key and (bool(item.get("key")) or item.get("operator") == "Exists")


def qos_class(spec: Json) -> str:
    """Guaranteed when all requests equal their limits, BestEffort when there are none."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    is_any = False
    is_full = True
    for container in containers:
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        for name in ("cpu", "memory"):
            limit, request = _amount(limits.get(name)), _amount(requests.get(name))
            is_any = is_any or bool(limit) or bool(request)
            is_full = is_full and bool(limit) and limit == request
    if not is_any:
        return "BestEffort"
    return "Guaranteed" if is_full else "Burstable"


def _amount(text: object) -> str:
    parsed = quantity.parse(text) if text is not None else None
    rendered = parsed.render() if parsed is not None else ""
    return "" if rendered == "0" else rendered


def _service(service: Json) -> None:
    spec = service.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
    if spec["type"] != "ExternalName":
        # A headless Service without selector has endpoints of its own: any family will do.
        is_foreign = spec.get("clusterIP") == "None" and not spec.get("selector")
        spec.setdefault("ipFamilies", ["IPv4", "IPv6"] if is_foreign else ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "RequireDualStack" if is_foreign else "SingleStack")
        spec.setdefault("internalTrafficPolicy", "Cluster")
        if spec.get("clusterIP") == "None":
            spec["clusterIPs"] = ["None"]
    if spec["type"] in {"NodePort", "LoadBalancer"}:
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    for key in [k for k in ("ports", "selector", "publishNotReadyAddresses") if not spec.get(k)]:
        spec.pop(key, None)
    service["status"] = {"loadBalancer": {}}


def _namespace(namespace: Json) -> None:
    meta = namespace["metadata"]
    meta.setdefault("labels", {})["kubernetes.io/metadata.name"] = meta.get("name", "")
    namespace["spec"] = {"finalizers": ["kubernetes"]}
    namespace["status"] = {"phase": "Active"}


def _job(job: Json) -> None:
    spec = job.setdefault("spec", {})
    spec.setdefault("parallelism", 1)
    if spec["parallelism"] == 1 or "completions" in spec:
        spec.setdefault("completions", 1)
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    spec.setdefault("podReplacementPolicy", "TerminatingOrFailed")
    template = spec.setdefault("template", {})
    uid, name = job["metadata"]["uid"], job["metadata"].get("name", "")
    if not spec["manualSelector"]:
        labels = {
            "batch.kubernetes.io/controller-uid": uid,
            "batch.kubernetes.io/job-name": name,
            "controller-uid": uid,
            "job-name": name,
        }
        spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
        meta = template.setdefault("metadata", {})
        meta["labels"] = {**(meta.get("labels") or {}), **labels}
    if not job["metadata"].get("labels"):
        job["metadata"]["labels"] = dict(template.get("metadata", {}).get("labels") or {})
    pod_spec(template.setdefault("spec", {}))
    job["status"] = {}


def _deployment(deployment: Json) -> None:
    spec = deployment.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    rolling = {"maxUnavailable": "25%", "maxSurge": "25%"}
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        strategy["rollingUpdate"] = {**rolling, **(strategy.get("rollingUpdate") or {})}
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    pod_spec(spec.setdefault("template", {}).setdefault("spec", {}))
    deployment["status"] = {}


def _replica_set(replica_set: Json) -> None:
    spec = replica_set.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    template = spec.setdefault("template", {})
    pod_spec(template.setdefault("spec", {}))
    replica_set["status"] = {"replicas": 0}


def _secret(secret: Json) -> None:
    secret.setdefault("type", "Opaque")


def _event(event: Json) -> None:
    for moment in ("eventTime", "firstTimestamp", "lastTimestamp"):
        event.setdefault(moment, None)
    event.setdefault("source", {})
    event.setdefault("reportingComponent", "")
    event.setdefault("reportingInstance", "")


def _claim(claim: Json) -> None:
    spec = claim.setdefault("spec", {})
    spec.setdefault("volumeMode", "Filesystem")
    claim["status"] = {"phase": "Pending"}


def _priority_class(priority: Json) -> None:
    priority.setdefault("preemptionPolicy", "PreemptLowerPriority")
    priority.setdefault("value", 0)


def _node(node: Json) -> None:
    node.setdefault("spec", {})
    node.setdefault("status", {})


_BY_KIND: dict[str, Callable[[Json], None]] = {
    "Pod": _pod,
    "Service": _service,
    "Namespace": _namespace,
    "Job": _job,
    "Deployment": _deployment,
    "ReplicaSet": _replica_set,
    "Secret": _secret,
    "PersistentVolumeClaim": _claim,
    "PriorityClass": _priority_class,
    "Node": _node,
    "Event": _event,
}
