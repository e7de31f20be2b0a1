"""The Go training-operator 1.9.3 on the test cluster, from the manifests of its own repository."""

import os
from typing import Any

import yaml

from tests.support.controlplane.endpoint import ApiError
from tests.support.controlplane.toolchain import Toolchain
from tests.support.helm import EVERY_DIALECT
from tests.support.node.client import HOME, Cluster, Json, tfjob, until
from tests.support.node.images import PEER
from tests.support.patience import PATIENCE

CRD = "tfjobs.kubeflow.org"
_NAME = "training-operator"
_WEBHOOK = "validator.training-operator.kubeflow.org"
_OF_USERS = "kubeflow-training-"
"""How the names of the roles begin that both operators install for users."""


def manifests(cluster: Cluster) -> list[Json]:
    """What its own installation applies, with the image of the test cluster."""
    folder = Toolchain(os.environ).module_folder(_NAME, "manifests")
    text = cluster.kubectl("kustomize", str(folder / "overlays" / "standalone"))
    documents = [each for each in yaml.safe_load_all(text) if each]
    for each in documents:
        if each["kind"] == "Deployment":
            each["spec"]["template"]["spec"]["containers"][0]["image"] = PEER
    return documents


def manifests_beside(cluster: Cluster, namespace: str) -> list[Json]:
    """The same for a peer that lives in one namespace, serves it alone, and leaves our objects."""
    found = [_moved(each, namespace) for each in manifests(cluster) if not _is_shared(each)]
    for each in found:
        if each["kind"] == "Deployment":
            container = each["spec"]["template"]["spec"]["containers"][0]
            container["args"] = [f"--namespace={namespace}"]
        for webhook in each.get("webhooks", ()):
            labels = {"kubernetes.io/metadata.name": namespace}
            webhook["namespaceSelector"] = {"matchLabels": labels}
    return found


def _is_shared(document: Json) -> bool:
    name: str = document["metadata"]["name"]
    return document["kind"] == "Namespace" or name == CRD or name.startswith(_OF_USERS)


def _moved(value: Any, namespace: str) -> Any:
    if isinstance(value, list):
        return [_moved(each, namespace) for each in value]
    if isinstance(value, dict):
        return {
            key: namespace if (key, each) == ("namespace", HOME) else _moved(each, namespace)
            for key, each in value.items()
        }
    return value


def start(cluster: Cluster, documents: list[Json], namespace: str = HOME) -> None:
    """Install the peer; returns when it accepts jobs."""
    relax(cluster, "privileged", namespace)
    text = yaml.safe_dump_all(documents)
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", text=text)
    place, name = ("-n", namespace), f"deployment/{_NAME}"
    cluster.kubectl("scale", *place, name, "--replicas=1")
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{_NAME}"
    # The kubelet brings a certificate that was made later up to two minutes later.
    until("it is ready", lambda: _is_available(cluster.get(path)), seconds=5 * PATIENCE)
    until("its webhook answers", lambda: _is_accepted(cluster, namespace))


def _is_available(deployment: Json) -> bool:
    status = deployment.get("status", {})
    is_seen: bool = status.get("observedGeneration") == deployment["metadata"]["generation"]
    return is_seen and bool(status.get("availableReplicas") == status.get("updatedReplicas") == 1)


def restore(cluster: Cluster) -> None:
    """Remove what is left of the peer, and install our operator as the other tests expect it."""
    delete = ("delete", "--ignore-not-found")
    cluster.kubectl(*delete, "validatingwebhookconfiguration", _WEBHOOK)
    cluster.kubectl(*delete, "clusterrole,clusterrolebinding", _NAME)
    cluster.kubectl(*delete, "-n", HOME, f"deployment/{_NAME}", f"service/{_NAME}")
    relax(cluster, "restricted")
    cluster.install(EVERY_DIALECT, flags=("--take-ownership",))


def relax(cluster: Cluster, level: str, namespace: str = HOME) -> None:
    """Set the level of Pod Security of an operator's namespace; the peer needs a low one."""
    label = f"pod-security.kubernetes.io/enforce={level}"
    cluster.kubectl("label", "namespace", namespace, label, "--overwrite")


def _is_accepted(cluster: Cluster, namespace: str) -> bool:
    """Whether a job could be created; the webhook's Service has an endpoint a moment later."""
    path = f"/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs?dryRun=All"
    try:
        cluster.endpoint.request("POST", path, tfjob({"Worker": (1, ())}))
    except ApiError as refusal:
        if refusal.status != 500:
            raise
        return False
    return True
