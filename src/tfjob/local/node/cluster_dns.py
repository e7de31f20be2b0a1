"""Resolves host names of the cluster to local ports.

A Service resolves to the first running pod that it selects. An unknown name resolves to a port that
is reserved for a pod of that name. A pod that publishes its address is reached there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from tfjob.local.node.readiness import shown_port

Json = Mapping[str, Any]
Claim = Callable[[str, Sequence[str], int], int]


class ClusterDns:
    """A snapshot of Services and pods, with the port allocator behind them."""

    def __init__(self, *, services: Iterable[Json], pods: Iterable[Json], claim: Claim) -> None:
        self._services = {_key(service): service for service in services}
        self._pods = dict(sorted(((_key(pod), pod) for pod in pods), key=itemgetter(0)))
        self._claim = claim

    def is_known(self, namespace: str, name: str) -> bool:
        return (namespace, name) in self._services

    def port(self, namespace: str, name: str, port: int) -> int:
        """The local port for a port of this Service or pod."""
        service = self._services.get((namespace, name))
        pod = self._pod_behind(namespace, name)
        target = target_port(service, pod, port)
        shown = None if pod is None else _port_shown_for(pod, target)
        if shown is not None:
            return shown
        names = [name] if pod is None else self.names_of(pod)
        return self._claim(namespace, names if name in names else [*names, name], target)

    def names_of(self, pod: Json) -> list[str]:
        """All names that resolve to the pod, its own first."""
        namespace, name = _key(pod)
        spec = pod.get("spec") or {}
        names = [name]
        if spec.get("hostname") and spec.get("subdomain"):
            names.append(f"{spec['hostname']}.{spec['subdomain']}")
        names += [
            other
            for (where, other), service in sorted(self._services.items())
            if where == namespace
            and other != name
            and _selects(service, pod)
            and self._pod_of(service) is pod
        ]
        return names

    def own_ports(self, pod: Json) -> list[int]:
        """The ports that the pod declares or that Services target."""
        namespace, _ = _key(pod)
        ports = dict.fromkeys(container_ports(pod))
        for (where, _), service in sorted(self._services.items()):
            if where == namespace and _selects(service, pod):
                entries = (service.get("spec") or {}).get("ports") or ()
                numbers = [entry["port"] for entry in entries if "port" in entry]
                ports |= dict.fromkeys(target_port(service, pod, number) for number in numbers)
        return list(ports)

    def _pod_behind(self, namespace: str, name: str) -> Json | None:
        service = self._services.get((namespace, name))
        if service is not None and _selector(service):
            return self._pod_of(service)
        if (namespace, name) in self._pods:
            return self._pods[namespace, name]
        return self._pod_by_hostname(namespace, name)

    def _pod_by_hostname(self, namespace: str, name: str) -> Json | None:
        for (where, _), pod in self._pods.items():
            spec = pod.get("spec") or {}
            if where == namespace and name == f"{spec.get('hostname')}.{spec.get('subdomain')}":
                return pod
        return None

    def _pod_of(self, service: Json) -> Json | None:
        namespace, _ = _key(service)
        selected = [
            pod
            for (where, _), pod in self._pods.items()
            if where == namespace and _selects(service, pod)
        ]
        return min(selected, key=_rank, default=None)


def target_port(service: Json | None, pod: Json | None, port: int) -> int:
    """The pod's port behind a port of the Service; a headless Service keeps the number."""
    spec = (service or {}).get("spec") or {}
    if spec.get("clusterIP") == "None":
        return port
    for entry in spec.get("ports") or ():
        if entry.get("port") == port:
            target = entry.get("targetPort", port)
            return target if isinstance(target, int) else _named_port(pod, str(target), port)
    return port


def container_ports(pod: Json) -> list[int]:
    """The ports that the pod's containers declare."""
    containers = (pod.get("spec") or {}).get("containers") or ()
    entries = [entry for container in containers for entry in container.get("ports") or ()]
    return [entry["containerPort"] for entry in entries if "containerPort" in entry]


def _port_shown_for(pod: Json, port: int) -> int | None:
    """The published port of the pod, if it is for this port: the first declared one."""
    declared = container_ports(pod) or [port]
    return shown_port(pod) if port == declared[0] else None


def _named_port(pod: Json | None, name: str, default: int) -> int:
    if name.isdigit():
        return int(name)
    for container in ((pod or {}).get("spec") or {}).get("containers") or ():
        for entry in container.get("ports") or ():
            if entry.get("name") == name:
                return int(entry["containerPort"])
    return default


def _rank(pod: Json) -> int:
    """Sort key for candidates: 0 running, 1 terminating, 2 finished."""
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return 2
    return int(bool((pod.get("metadata") or {}).get("deletionTimestamp")))


def _selects(service: Json, pod: Json) -> bool:
    selector = _selector(service)
    labels = (pod.get("metadata") or {}).get("labels") or {}
    return bool(selector) and selector.items() <= labels.items()


def _selector(service: Json) -> dict[str, str]:
    return dict((service.get("spec") or {}).get("selector") or {})


def _key(thing: Json) -> tuple[str, str]:
    meta = thing.get("metadata") or {}
    return str(meta.get("namespace") or "default"), str(meta.get("name"))
