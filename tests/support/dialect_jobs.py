"""Jobs of any API in the namespace of a test: created, changed, read, and waited for.

It reads the API server only. A wait that fails shows the actual state.
"""

import asyncio
import json
import time
from collections.abc import Callable, Collection, Mapping
from hashlib import sha1
from typing import Any

from tests.support.controlplane.endpoint import ApiError
from tests.support.fake_kubelet.pod_status import Pod
from tests.support.job_fixture import JobFixture
from tests.support.patience import PATIENCE

Json = dict[str, Any]
KUBEFLOW, TENSORFLOW = "kubeflow.org", "tensorflow.org"
TENSORSTACK = "batch.tensorstack.dev"
_APIS = {
    f"{KUBEFLOW}/v1": "tfjobs",
    f"{KUBEFLOW}/v1beta1": "tfjobs",
    f"{TENSORFLOW}/v1alpha1": "tfjobs",
    f"{TENSORSTACK}/v1beta1": "tensorflowtrainingjobs",
}
_ROOTS = {
    "configmaps": "/api/v1",
    "events": "/api/v1",
    "pods": "/api/v1",
    "services": "/api/v1",
    "jobs": "/apis/batch/v1",
    "deployments": "/apis/apps/v1",
    "podgroups": "/apis/scheduler.tensorstack.dev/v1beta1",
    "tensorboards": "/apis/tensorstack.dev/v1beta1",
}
_OF_THE_CLUSTER = "kube-root-ca.crt"
_POLL_SECONDS = 0.05


class Jobs:
    """The jobs of one API in one namespace."""

    def __init__(self, fixture: JobFixture, api_version: str) -> None:
        self.fixture = fixture
        self._path = f"/apis/{api_version}/namespaces/{fixture.namespace}/{_APIS[api_version]}"

    async def create(self, job: Mapping[str, Any]) -> Json:
        return await self.fixture.call("POST", self._path, job)

    async def refused(self, job: Mapping[str, Any]) -> str:
        """The message with which the API server, or the operator at once, refuses a job."""
        try:
            made = await self.create(job)
        except ApiError as refusal:
            return str(refusal)
        name = made["metadata"]["name"]
        found = await self.until("failed", lambda each: phase_of(each) == "Failed", name=name)
        assert not found["spec"].get("RuntimeId")
        assert await self.owned("pods") == await self.owned("services") == set()
        return json.dumps(found["status"], ensure_ascii=False)

    async def get(self, name: str = "j") -> Json:
        return await self.fixture.call("GET", f"{self._path}/{name}")

    async def patch(self, spec: Mapping[str, Any], name: str = "j") -> Json:
        return await self.fixture.call("PATCH", f"{self._path}/{name}", {"spec": spec})

    async def edit_refused(self, spec: Mapping[str, Any], name: str = "j") -> str:
        """The message with which a change of a job is refused; fails if it is accepted."""
        try:
            await self.patch(spec, name)
        except ApiError as refusal:
            return str(refusal)
        raise AssertionError(f"was not refused: {json.dumps(spec)}")

    async def delete(self, name: str = "j") -> None:
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        await self.fixture.call("DELETE", f"{self._path}/{name}", body)

    async def clear(self) -> None:
        """Delete every job, so that nobody replaces the pods that go after it."""
        await self.fixture.call("DELETE", self._path)

    async def until(self, what: str, is_so: Callable[[Json], object], *, name: str = "j") -> Json:
        """Wait until a job matches, and return it."""
        deadline = time.monotonic() + PATIENCE
        while not is_so(found := await self.get(name)):
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"not so after {PATIENCE} s: {what}\n{await self._story(found)}"
                )
            await asyncio.sleep(_POLL_SECONDS)
        return found

    async def comes_to(self, phase: str, *, name: str = "j") -> Json:
        """Wait until a job is in a phase; a TFJob's is its last condition."""
        return await self.until(f"phase {phase}", lambda job: phase_of(job) == phase, name=name)

    async def owned(self, kind: str) -> set[str]:
        """The names of all objects of a kind in the namespace."""
        return set(await self.objects(kind))

    async def objects(self, kind: str) -> dict[str, Json]:
        path = f"{_ROOTS[kind]}/namespaces/{self.fixture.namespace}/{kind}"
        items = (await self.fixture.call("GET", path))["items"]
        found = {each["metadata"]["name"]: each for each in items}
        return {name: each for name, each in found.items() if name != _OF_THE_CLUSTER}

    async def object(self, kind: str, name: str) -> Json:
        """Wait until an object exists, and return it."""
        await self.has(kind, {name}, exactly=False)
        return (await self.objects(kind))[name]

    async def has(self, kind: str, names: Collection[str], *, exactly: bool = True) -> None:
        """Wait until there are objects of exactly these names, none of them on its way out."""
        wanted = set(names)

        async def is_so() -> bool:
            found = await self.objects(kind)
            stay = {name for name, each in found.items() if not _leaves(each)}
            return stay == wanted == set(found) if exactly else wanted <= stay

        await self.eventually(f"{kind} {sorted(wanted)}", is_so)

    async def eventually(self, what: str, is_so: Callable[[], Any]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not await is_so():
            if time.monotonic() > deadline:
                jobs = (await self.fixture.call("GET", self._path))["items"]
                stories = [await self._story(job) for job in jobs]
                raise AssertionError(f"not so after {PATIENCE} s: {what}\n" + "\n".join(stories))
            await asyncio.sleep(_POLL_SECONDS)

    async def pod(self, owner: str) -> Pod:
        """Wait until a replica has a pod that is not on its way out: by its name or its Job's."""
        found: list[Pod] = []

        def is_there(pods: Mapping[str, Pod]) -> bool:
            own = [each for name, each in pods.items() if _is_of(name, owner)]
            found[:] = [each for each in own if not _leaves(each)]
            return bool(found)

        await self.fixture.kubelet.until(f"pod of {owner}", is_there)
        return max(found, key=lambda each: str(each["metadata"]["creationTimestamp"]))

    async def _story(self, job: Json) -> str:
        told = [
            f"  {each['type']} {each['reason']}: {each['message']}"
            for each in await self.fixture.events(job["metadata"]["name"])
        ]
        pods = [
            f"  {name} {pod['status'].get('phase')}"
            for name, pod in (await self.fixture.pods()).items()
        ]
        kinds = ("jobs", "services", "deployments", "configmaps")
        others = [f"{kind}: {sorted(await self.owned(kind))}" for kind in kinds]
        status = json.dumps(job.get("status", {}), indent=1)
        log = self.fixture.env.operator.log
        return "\n".join([status, *others, "pods:", *pods, "events:", *told, f"log: {log}"])


def phase_of(job: Mapping[str, Any]) -> str:
    """The phase of a job, in the words of its API."""
    status = job.get("status") or {}
    if job["apiVersion"].startswith(f"{KUBEFLOW}/"):
        conditions = status.get("conditions") or [{"type": ""}]
        return str(conditions[-1]["type"])
    return str(status.get("phase") or "")


def id_of(job: Mapping[str, Any]) -> str:
    """The part of the children's names that differs between jobs of the same name."""
    if job["apiVersion"].startswith(f"{TENSORFLOW}/"):
        return str(job["spec"].get("RuntimeId") or "")
    # The contract derives the id so; nothing is secret here.
    return sha1(job["metadata"]["uid"].encode(), usedforsecurity=False).hexdigest()[:5]


def env_of(
    pod: Mapping[str, Any], name: str = "TF_CONFIG", *, container: str = "tensorflow"
) -> Any:
    """A variable of a pod's, or pod template's, container; None if it is not set."""
    [found] = [each for each in pod["spec"]["containers"] if each["name"] == container]
    values = [each.get("value") for each in found.get("env") or () if each["name"] == name]
    assert len(values) <= 1, f"{name} is set {len(values)} times"
    return values[0] if values else None


def owner_of(child: Mapping[str, Any]) -> Json:
    """The only owner of an object."""
    [owner] = child["metadata"]["ownerReferences"]
    found: Json = owner
    return found


def tf_job(*entries: Json, name: str = "j", **spec: Any) -> Json:
    """A TfJob of tensorflow.org/v1alpha1; without entries, one MASTER."""
    return {
        "apiVersion": f"{TENSORFLOW}/v1alpha1",
        "kind": "TfJob",
        "metadata": {"name": name},
        "spec": {"replicaSpecs": list(entries or (entry(),)), **spec},
    }


def entry(
    role: str = "MASTER", replicas: int = 1, *, template: Json | None = None, **fields: Any
) -> Json:
    """One set of replicas of a TfJob; a PS has no template unless one is given."""
    found: Json = {"tfReplicaType": role, "replicas": replicas, **fields}
    if template is not None or role != "PS":
        found["template"] = template or pod_template(restartPolicy="OnFailure")
    return found


def training_job(
    roles: str = "worker=1", *, name: str = "j", restart: str = "", **spec: Any
) -> Json:
    """A TensorFlowTrainingJob such as `training_job("chief=1 ps=2 worker=4")`."""
    entries = []
    for role, _, count in (each.partition("=") for each in roles.split()):
        own: Json = {"type": role, "replicas": int(count), "template": pod_template()}
        entries.append(own | ({"restartPolicy": restart} if restart else {}))
    return {
        "apiVersion": f"{TENSORSTACK}/v1beta1",
        "kind": "TensorFlowTrainingJob",
        "metadata": {"name": name},
        "spec": {"replicaSpecs": entries, **spec},
    }


def pod_template(*more: Json, container: Json | None = None, **spec: Any) -> Json:
    """A pod template with the training container, further containers, and fields of its spec."""
    main = {"name": "tensorflow", "image": "example.invalid/tensorflow", **(container or {})}
    return {"spec": {"containers": [main, *more], **spec}}


def _is_of(pod: str, owner: str) -> bool:
    return pod == owner or pod.rpartition("-")[0] == owner


def _leaves(each: Mapping[str, Any]) -> bool:
    return "deletionTimestamp" in each["metadata"]
