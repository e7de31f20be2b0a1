"""Kueue out of cluster: definitions, webhooks, configuration and one queue.

Only one version of each definition is kept, so that no conversion webhook is needed. Kueue insists
on one folder for the certificate of its metrics, so it runs in a mount namespace with its own.
"""

import base64
import shlex
import socket
from pathlib import Path
from typing import Any, Final

import yaml

from tests.schedulers.site import Site
from tests.support.controlplane.endpoint import ApiError
from tests.support.controlplane.ports import LOOPBACK

Json = dict[str, Any]
QUEUE: Final = "team"
NAMESPACE: Final = "kueue-system"
_VERSION: Final = "v1beta2"
API: Final = f"/apis/kueue.x-k8s.io/{_VERSION}"
_HOOKS: Final = "/apis/admissionregistration.k8s.io/v1"
_KEPT: Final = ("tfjob.kb.io", "pod.kb.io", "clusterqueue.kb.io", "resourceflavor.kb.io")
_WORKLOADS: Final = ("mworkload.kb.io", "vworkload.kb.io")
_METRICS: Final = Path("/etc/kueue")
_TLS: Final = Path(__file__).parents[1] / "support" / "tls"


def start(site: Site, *, frameworks: tuple[str, ...]) -> None:
    """Start Kueue with these integrations, and with a queue that has no quota yet."""
    files = site.toolchain.module_folder("kueue", "crds")
    site.plane.install_crds(_definitions(files / "crd" / "bases"))
    certificates = site.plane.folder / "kueue-certificates"
    for folder in (certificates, certificates / "metrics" / "certs"):
        folder.mkdir(parents=True, exist_ok=True)
        for ours, theirs in (("server.crt", "tls.crt"), ("server.key", "tls.key")):
            (folder / theirs).write_bytes((_TLS / ours).read_bytes())
    port = site.ports.take()
    config = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"{LOOPBACK}:{site.ports.take()}"},
        "metrics": {"bindAddress": f"{LOOPBACK}:{site.ports.take()}"},
        "webhook": {"port": port, "host": LOOPBACK, "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "clientConnection": {"qps": 200, "burst": 400},
        "integrations": {"frameworks": list(frameworks)},
        "featureGates": {"VisibilityOnDemand": False},
    }
    path = site.write("kueue.yaml", yaml.safe_dump(config))
    _METRICS.mkdir(exist_ok=True)
    mount = shlex.join(["mount", "--bind", str(certificates), str(_METRICS)])
    run = shlex.join([str(site.toolchain.build("kueue")), f"--config={path}"])
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", f"{mount} && exec {run}"]
    environment = {"KUBECONFIG": str(site.plane.kubeconfig)}
    site.plane.endpoint.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    site.processes.start("kueue", command, environment)
    site.wait("webhook of Kueue", lambda: _listens(port))
    for hook in _webhooks(files / "webhook" / "manifests.yaml", port=port):
        plural = f"{hook['kind'].lower()}s"
        site.plane.endpoint.request("POST", f"{_HOOKS}/{plural}", hook)
    site.wait("queue", lambda: _makes_queue(site))


def make_local_queue(site: Site, namespace: str) -> None:
    """Let jobs of a namespace use the queue."""
    body = {
        "apiVersion": f"kueue.x-k8s.io/{_VERSION}",
        "kind": "LocalQueue",
        "metadata": {"name": QUEUE},
        "spec": {"clusterQueue": QUEUE},
    }
    site.plane.endpoint.request("POST", f"{API}/namespaces/{namespace}/localqueues", body)


def _makes_queue(site: Site) -> bool:
    """Kueue answers for its objects, which takes a moment after it has started."""
    flavor = {
        "apiVersion": f"kueue.x-k8s.io/{_VERSION}",
        "kind": "ResourceFlavor",
        "metadata": {"name": "any"},
    }
    for plural, body in (("resourceflavors", flavor), ("clusterqueues", _queue())):
        try:
            site.plane.endpoint.request("POST", f"{API}/{plural}", body)
        except ApiError as refusal:
            if refusal.reason != "AlreadyExists":
                raise
    return True


def set_quota(site: Site, accelerators: int) -> None:
    """Let the queue have as many accelerators as the nodes."""
    change_queue(site, {"resourceGroups": _quota(accelerators)})


def change_queue(site: Site, spec: Json) -> None:
    site.plane.endpoint.request("PATCH", f"{API}/clusterqueues/{QUEUE}", {"spec": spec})


def _quota(accelerators: int) -> list[Json]:
    quota = [{"name": "nvidia.com/gpu", "nominalQuota": accelerators}]
    flavors = [{"name": "any", "resources": quota}]
    return [{"coveredResources": ["nvidia.com/gpu"], "flavors": flavors}]


def _queue() -> Json:
    return {
        "apiVersion": f"kueue.x-k8s.io/{_VERSION}",
        "kind": "ClusterQueue",
        "metadata": {"name": QUEUE},
        "spec": {
            "namespaceSelector": {},
            "preemption": {"withinClusterQueue": "LowerPriority"},
            "resourceGroups": _quota(0),
        },
    }


def _definitions(folder: Path) -> list[Json]:
    found = []
    for path in sorted(folder.glob("*.yaml")):
        crd = yaml.safe_load(path.read_text())
        versions = crd["spec"]["versions"]
        newest = [each for each in versions if each["name"] == _VERSION]
        if newest:
            crd["spec"]["versions"] = [{**newest[0], "storage": True, "served": True}]
            crd["spec"].pop("conversion", None)
        found.append(crd)
    return found


def _webhooks(path: Path, *, port: int) -> list[Json]:
    bundle = base64.b64encode((_TLS / "ca.crt").read_bytes()).decode()
    found = []
    for document in yaml.safe_load_all(path.read_text()):
        if not document:
            continue
        hooks = [each for each in document["webhooks"] if _is_kept(each["name"])]
        for each in hooks:
            where = each["clientConfig"]["service"]["path"]
            each["clientConfig"] = {"url": f"https://{LOOPBACK}:{port}{where}", "caBundle": bundle}
        name = f"kueue-{document['metadata']['name']}"
        found.append({**document, "metadata": {"name": name}, "webhooks": hooks})
    return found


def _is_kept(name: str) -> bool:
    return name in _WORKLOADS or name[1:] in _KEPT


def _listens(port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK, port), timeout=1).close()
    except OSError:
        return False
    return True
