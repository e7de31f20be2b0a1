"""Pod admission: priority classes and service accounts.

A pod that refers to one that does not exist is refused with kube-apiserver's message.
"""

from typing import Any

from tfjob.local.apiserver import status
from tfjob.local.apiserver.store import Key, Store

Json = dict[str, Any]
PRIORITIES = "priorityclasses.scheduling.k8s.io"


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
