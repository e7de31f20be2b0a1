"""Pod admission: priority classes, service accounts, and the volume with their token.

A pod whose class or account does not exist is refused with the message of kube-apiserver.
"""

import secrets
from typing import Any

from tfjob.local.apiserver import status
from tfjob.local.apiserver.store import Key, Store

Json = dict[str, Any]
PRIORITIES = "priorityclasses.scheduling.k8s.io"
PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
ROOT_CA = "kube-root-ca.crt"
_PREFIX = "kube-api-access-"
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SECONDS = 3607
_MODE = 0o644


def admit_pod(store: Store, pod: Json) -> None:
    """Set the priority and check the service account, in place."""
    _set_priority(store, pod)
    _check_account(store, pod)


def _set_priority(store: Store, pod: Json) -> None:
    spec = pod["spec"]
    chosen = _chosen_class(store, pod)
    if chosen is None:
        return
    spec["priorityClassName"] = chosen["metadata"]["name"]
    spec["priority"] = chosen.get("value", 0)
    spec["preemptionPolicy"] = chosen.get("preemptionPolicy", "PreemptLowerPriority")


def _chosen_class(store: Store, pod: Json) -> Json | None:
    name = pod["spec"].get("priorityClassName")
    if not name:
        every = (row.object() for row in store.page(PRIORITIES))
        return next((each for each in every if each.get("globalDefault")), None)
    found = store.get(Key(PRIORITIES, "", name))
    if found is None:
        raise _refused(pod, f"no PriorityClass with name {name} was found")
    return found.object()


def _check_account(store: Store, pod: Json) -> None:
    name, namespace = pod["spec"]["serviceAccountName"], pod["metadata"]["namespace"]
    if store.get(Key("serviceaccounts", namespace, name)) is None:
        where = f"{namespace}/{name}"
        why = f'error looking up service account {where}: serviceaccount "{name}" not found'
        raise _refused(pod, why)


def _refused(pod: Json, why: str) -> status.StatusError:
    name = pod["metadata"]["name"]
    about = {"name": name, "kind": "pods"}
    message = f'pods "{name}" is forbidden: {why}'
    return status.StatusError(403, "Forbidden", message, details=about)


def add_token_volume(store: Store, pod: Json) -> None:
    """Add the volume with token, certificate and namespace, and its mounts, in place.

    As on a real server, a pod can opt out, and a container keeps what it mounts at that path.
    """
    spec = pod["spec"]
    containers = [*(spec.get("initContainers") or ()), *spec["containers"]]
    bare = [each for each in containers if not _has_mount(each)]
    if not bare or not _is_wanted(store, pod):
        return
    name = _PREFIX + "".join(secrets.choice(_ALPHABET) for _ in range(5))
    spec["volumes"] = [*(spec.get("volumes") or ()), _volume(name)]
    for container in bare:
        mount = {"name": name, "readOnly": True, "mountPath": PATH}
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]


def _is_wanted(store: Store, pod: Json) -> bool:
    """True unless the pod or, if it sets nothing, its service account opts out."""
    spec = pod["spec"]
    if any(str(each.get("name", "")).startswith(_PREFIX) for each in spec.get("volumes") or ()):
        return False
    asked = spec.get("automountServiceAccountToken")
    if asked is None:
        key = Key("serviceaccounts", pod["metadata"]["namespace"], spec["serviceAccountName"])
        account = store.get(key)
        asked = account and account.object().get("automountServiceAccountToken")
    return asked is not False


def _has_mount(container: Json) -> bool:
    return any(each.get("mountPath") == PATH for each in container.get("volumeMounts") or ())


def _volume(name: str) -> Json:
    namespace = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": _SECONDS, "path": "token"}},
        {"configMap": {"name": ROOT_CA, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": namespace}]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": _MODE}}
