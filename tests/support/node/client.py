"""What a test does to the cluster of one node: requests, kubectl, Helm, and holding a component."""

import json
import math
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import yaml

from tests.support.command import output_of
from tests.support.controlplane.endpoint import ApiError, Endpoint
from tests.support.controlplane.toolchain import provide
from tests.support.helm import Helm
from tests.support.node.images import OPERATOR, PROGRAMS
from tests.support.node.machine import Folders, folders
from tests.support.patience import PATIENCE

Json = dict[str, Any]
T = TypeVar("T")
_POLL_SECONDS = 0.2
_PAGE = Path(__file__).parents[3] / "docs" / "install.md"
_ANY_IMAGE = "registry.example.com/ml/tfjob"
END = "/tmp/end"  # noqa: S108 - in a container
"""The file that the test program waits for with `--until`."""
HOME = "kubeflow"
"""The namespace of the operator."""


class Cluster:
    """The one cluster, for a process inside its namespaces."""

    def __init__(self, place: Folders, helm_home: Path) -> None:
        self._place = place
        config = yaml.safe_load(place.kubeconfig.read_text())
        self.endpoint = Endpoint(
            server=config["clusters"][0]["cluster"]["server"],
            token=config["users"][0]["user"]["token"],
            certificate=(place.run / "pki" / "apiserver.crt").read_text(),
        )
        self._helm_home = helm_home

    @cached_property
    def helm(self) -> Helm:
        binary = provide("helm")["helm"]
        return Helm(binary, home=self._helm_home, kubeconfig=self._place.kubeconfig)

    @cached_property
    def _kubectl(self) -> Path:
        return provide("kubectl")["kubectl"]

    def kubectl(self, *words: str, text: str | None = None, fails: bool = False) -> str:
        """The output of kubectl; it must succeed, or fail where `fails` says so."""
        env = {**os.environ, "KUBECONFIG": str(self._place.kubeconfig)}
        return output_of([self._kubectl, *words], env=env, stdin=text, fails=fails)

    def follow(self, commands: Iterable[str]) -> None:
        """Run commands of a page, with the image of the checkout."""
        programs: dict[str, Callable[..., object]] = {"helm": self.helm, "kubectl": self.kubectl}
        for command in commands:
            words = shlex.split(command.replace(_ANY_IMAGE, OPERATOR))
            programs[words[0]](*words[1:])

    def explain(self, namespace: str, name: str = "j") -> str:
        """What `tfjob explain` says about a job."""
        command = [sys.executable, "-m", "tfjob.cli.main", "explain", name, "-n", namespace]
        environment = {**os.environ, "KUBECONFIG": str(self._place.kubeconfig)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def get(self, path: str) -> Json:
        found: Json = self.endpoint.request("GET", path)
        return found

    def install(self, *values: str, flags: Sequence[str] = ()) -> str:
        """Install the chart from the checkout with the image from the checkout, or change it."""
        own = (f"image.repository={OPERATOR}", *values)
        return self.helm.install(*own, namespace=HOME, flags=("--wait", *flags))

    def new_namespace(self, prefix: str, *, level: str = "privileged") -> "Namespace":
        """A namespace under a level of Pod Security in which pods can be created."""
        labels = {"pod-security.kubernetes.io/enforce": level}
        body = {"metadata": {"generateName": f"{prefix}-", "labels": labels}}
        name = self.endpoint.request("POST", "/api/v1/namespaces", body)["metadata"]["name"]
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        until("a service account", lambda: self.found(account))
        return Namespace(self, name, self._place.volumes / name)

    def found(self, path: str) -> Json | None:
        """An object, or None if there is none."""
        try:
            return self.get(path)
        except ApiError as refusal:
            if refusal.status != 404:
                raise
            return None

    @contextmanager
    def without(self, component: str) -> Iterator[None]:
        """Run a test while a component such as the kubelet is stopped; it runs again after."""
        held = self._place.held / component
        held.touch()
        try:
            self._wait_until_stopped(component)
            yield
        finally:
            held.unlink()
        until("the API server", self._is_ready)

    def _wait_until_stopped(self, component: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while _is_running(component):
            assert time.monotonic() < deadline, f"{component} does not stop"
            time.sleep(_POLL_SECONDS)

    def _is_ready(self) -> bool:
        try:
            self.endpoint.request("GET", "/readyz")
        except (ApiError, OSError):
            return False
        return True


class Namespace:
    """One test's namespace, with jobs, pods and volumes."""

    def __init__(self, cluster: Cluster, name: str, volumes: Path) -> None:
        self.cluster = cluster
        self.name = name
        self._volumes = volumes

    def path(self, kind: str, group: str = "v1") -> str:
        """The path of a kind's objects; the group is such as `kubeflow.org/v1`."""
        prefix = f"/apis/{group}" if "/" in group else f"/api/{group}"
        return f"{prefix}/namespaces/{self.name}/{kind}"

    def create(self, body: Json) -> Json:
        """Create any object, with the volumes that it claims."""
        if body["kind"] == "PersistentVolumeClaim":
            self._volume_for(body)
        kind = f"{body['kind'].lower()}s"
        group = body["apiVersion"]
        made: Json = self.cluster.endpoint.request("POST", self.path(kind, group), body)
        return made

    def job(self, name: str = "j", group: str = "kubeflow.org/v1", kind: str = "tfjobs") -> Json:
        return self.cluster.get(f"{self.path(kind, group)}/{name}")

    def patch(self, change: Mapping[str, Any], name: str = "j") -> None:
        path = f"{self.path('tfjobs', 'kubeflow.org/v1')}/{name}"
        self.cluster.endpoint.request("PATCH", path, change)

    def pods(self) -> dict[str, Json]:
        items = self.cluster.get(self.path("pods"))["items"]
        return {each["metadata"]["name"]: each for each in items}

    def pod(self, name: str) -> Json | None:
        return self.cluster.found(f"{self.path('pods')}/{name}")

    def delete_pod(self, name: str) -> None:
        self.cluster.endpoint.request("DELETE", f"{self.path('pods')}/{name}")

    def evict(self, name: str) -> None:
        """Evict a pod as `kubectl drain` does."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": self.name},
        }
        self.cluster.endpoint.request("POST", f"{self.path('pods')}/{name}/eviction", body)

    def log(self, pod: str, container: str = "tensorflow") -> str:
        path = f"{self.path('pods')}/{pod}/log?container={container}"
        found: object = self.cluster.endpoint.request("GET", path)
        return found if isinstance(found, str) else json.dumps(found)

    def until_condition(
        self, condition: str, name: str = "j", *, seconds: float = PATIENCE
    ) -> Json:
        """The job once a condition is true."""

        def look() -> Json | None:
            job = self.job(name)
            return job if condition in conditions_of(job) else None

        return until(f"{condition} of {self.name}/{name}", look, seconds=seconds)

    def until_running(self, *names: str) -> dict[str, Json]:
        """The pods once the training container of each of these runs."""

        def look() -> dict[str, Json] | None:
            pods = self.pods()
            return pods if all(is_running(pods.get(name)) for name in names) else None

        return until(f"{self.name}: {', '.join(names)} run", look)

    def until_replaced(self, name: str, uid: str) -> Json:
        """A running pod of the same name that is another one."""

        def look() -> Json | None:
            pod = self.pod(name)
            return pod if pod and pod["metadata"]["uid"] != uid and is_running(pod) else None

        return until(f"{self.name}: a new {name} runs", look)

    def events(self, name: str = "j") -> list[Json]:
        query = f"?fieldSelector=involvedObject.name%3D{name}"
        found: list[Json] = self.cluster.get(f"{self.path('events')}{query}")["items"]
        return found

    def end_pod(self, name: str, code: int = 0) -> None:
        """Let the test program of a pod, which waits for that, end by itself."""
        script = f"echo {code} > {END}"
        self.cluster.kubectl("exec", "-n", self.name, name, "--", "sh", "-c", script)

    def delete(self) -> None:
        self.cluster.endpoint.request("DELETE", f"/api/v1/namespaces/{self.name}")

    def _volume_for(self, claim: Json) -> None:
        """A volume on the node, made for one claim and for nobody else."""
        name = claim["metadata"]["name"]
        folder = self._volumes / name
        folder.mkdir(parents=True)
        folder.chmod(0o777)
        claim["metadata"].setdefault("namespace", self.name)
        claim["spec"] |= {"storageClassName": "", "volumeName": f"{self.name}-{name}"}
        spec = {
            "capacity": claim["spec"]["resources"]["requests"],
            "accessModes": claim["spec"]["accessModes"],
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": str(folder)},
            "claimRef": {"namespace": self.name, "name": name},
        }
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "spec": spec}
        volume["metadata"] = {"name": f"{self.name}-{name}"}
        self.cluster.endpoint.request("POST", "/api/v1/persistentvolumes", volume)


def until(thing: str, look: Callable[[], T | None], *, seconds: float = PATIENCE) -> T:
    """What `look` returns once it is true; fails after a long time and says for what."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"not after {seconds:.0f} s: {thing}"
        time.sleep(_POLL_SECONDS)
    return found


def rounds_of(setting: str, size: int) -> int:
    """How many rounds of a size reach the number in an environment variable; at least one."""
    return max(1, math.ceil(int(os.environ.get(setting, "0")) / size))


def tfjob(
    roles: Mapping[str, tuple[int, Sequence[str]]],
    *,
    name: str = "j",
    restart: str = "OnFailure",
    run_policy: Json | None = None,
    **spec: Any,
) -> Json:
    """A TFJob; each role has a number of replicas and the words of the test program."""
    replicas = {
        role: {
            "replicas": number,
            "restartPolicy": restart,
            "template": {"spec": pod_spec(*words)},
        }
        for role, (number, words) in roles.items()
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {"runPolicy": run_policy or {}, "tfReplicaSpecs": replicas, **spec},
    }


def pod_spec(*words: str) -> Json:
    """A pod that runs the test program."""
    command = ["python", "/programs/replica.py", *words]
    return {"containers": [{"name": "tensorflow", "image": PROGRAMS, "command": command}]}


def conditions_of(job: Json) -> list[str]:
    """The conditions that are true."""
    found = job.get("status", {}).get("conditions", [])
    return [each["type"] for each in found if each["status"] == "True"]


def condition(job: Json, kind: str) -> Json:
    """One condition of a job."""
    [found] = [each for each in job["status"]["conditions"] if each["type"] == kind]
    return dict(found)


def commands_of(heading: str) -> list[str]:
    """The commands of one section of the page on installing, without those of its subsections."""
    section = _PAGE.read_text().partition(f"\n{heading}\n")[2]
    section = re.split(r"^#+ ", section, maxsplit=1, flags=re.MULTILINE)[0]
    blocks = re.findall(r"^ *```\n(.*?)^ *```$", section, re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.split()[0] in ("helm", "kubectl")]


def is_running(pod: Json | None) -> bool:
    """Whether the training container runs and the pod is not about to be deleted."""
    if pod is None or "deletionTimestamp" in pod["metadata"]:
        return False
    statuses = pod["status"].get("containerStatuses", [])
    return any(each["name"] == "tensorflow" and "running" in each["state"] for each in statuses)


def exit_code(pod: Json, container: str = "tensorflow") -> int | None:
    """The exit code of an ended container."""
    for each in pod["status"].get("containerStatuses", []):
        if each["name"] == container and "terminated" in each["state"]:
            code: int = each["state"]["terminated"]["exitCode"]
            return code
    return None


def _is_running(component: str) -> bool:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                program = (entry / "cmdline").read_bytes().partition(b"\0")[0].decode()
            except OSError:
                continue
            if program.rpartition("/")[2] == component:
                return True
    return False


def this_cluster(helm_home: Path) -> Cluster:
    """The cluster in whose namespaces this process runs."""
    return Cluster(folders(), helm_home)
