"""The volume with which a pod reaches the API server: token, certificate and namespace.

As on a real server, it is added to pods that do not opt out, and mounted in every container that
has nothing else at that path.
"""

import secrets
from typing import Any

from tfjob.local.apiserver.store import Key, Store

Json = dict[str, Any]
PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
ROOT_CA = "kube-root-ca.crt"
_PREFIX = "kube-api-access-"
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SECONDS = 3607
_MODE = 0o644


def add_token_volume(store: Store, pod: Json) -> None:
    """Add the volume and its mounts, in place."""
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
    """Unless the pod, or else its service account, says no."""
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
