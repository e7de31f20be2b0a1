"""Runs a TfJob of tensorflow.org/v1alpha1 from creation to deletion, for `helm test`.

The job has one MASTER, one WORKER and one PS, and with an image of TensorFlow also the default PS
and TensorBoard. The test waits until the job has succeeded and a pod of each child has run, deletes
the job, and waits until all children are gone. The output is in the Test Anything Protocol; the
exit code is 0 if the test passed.
"""

import argparse
import asyncio
import secrets
import string
import sys
import time
from typing import Any

from tfjob.client.config import load
from tfjob.client.errors import NotFound
from tfjob.client.http import Api

ALPHABET = string.ascii_lowercase + string.digits
REPLICAS = ("master", "worker", "ps")
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
SERVE = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit()); signal.pause()"


def job_named(name: str, *, image: str, command: list[str]) -> dict[str, Any]:
    trained = template(image, command)
    replicas = [
        {"replicas": 1, "tfReplicaType": "MASTER", "template": trained},
        {"replicas": 1, "tfReplicaType": "PS"},
        {"replicas": 1, "tfReplicaType": "WORKER", "template": trained},
    ]
    spec: dict[str, Any] = {"replicaSpecs": replicas}
    if command:
        # The image of the operator, which can be pulled wherever the operator runs, and which has
        # no TensorFlow.
        replicas[1]["template"] = template(image, ["python", "-c", SERVE])
    else:
        spec |= {"tfImage": image, "tensorboard": {"logDir": "/tmp/tensorflow"}}
    return {
        "apiVersion": "tensorflow.org/v1alpha1",
        "kind": "TfJob",
        "metadata": {"name": name, "labels": {"test.mlkube.io": ""}},
        "spec": spec,
    }


def template(image: str, command: list[str]) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "tensorflow", "image": image}
    if command:
        container |= {"command": command, "securityContext": RESTRICTED}
    return {"spec": {"containers": [container], "restartPolicy": "OnFailure"}}


class Check:
    """One job, and the time limit of its test."""

    def __init__(
        self, api: Api, namespace: str, *, name: str, seconds: float, pause: float
    ) -> None:
        self._api, self._namespace, self._name = api, namespace, name
        self._deadline, self._pause = time.monotonic() + seconds, pause

    async def run(self, job: dict[str, Any]) -> None:
        await self._api.create(self._jobs(), job, decode=dict)
        try:
            job = await self._until("state Succeeded", self._succeeded)
            children = self._children(job["spec"])
            for path in children:
                await self._until(f"a pod of {path}", lambda path=path: self._has_run(path))
        finally:
            await self._api.delete(f"{self._jobs()}/{self._name}")
        for path in children:
            await self._until(f"deletion of {path}", lambda path=path: self._gone(path))

    async def _succeeded(self) -> dict[str, Any] | None:
        job = await self._found(f"{self._jobs()}/{self._name}") or {}
        status = job.get("status", {})
        assert status.get("state") != "Failed", f"the job has failed: {status}"
        return job if status.get("state") == "Succeeded" else None

    async def _has_run(self, path: str) -> bool:
        """Whether a pod of a batch Job or of a Deployment is ready or has succeeded."""
        status = (await self._found(path) or {}).get("status", {})
        if "/services/" in path:
            return status != {}
        return any(status.get(count) for count in ("ready", "readyReplicas", "succeeded"))

    async def _gone(self, path: str) -> bool:
        return await self._found(path) is None

    async def _until(self, what: str, look: Any) -> Any:
        while not (found := await look()):
            assert time.monotonic() < self._deadline, f"timed out waiting for: {what}"
            await asyncio.sleep(self._pause)
        return found

    async def _found(self, path: str) -> dict[str, Any] | None:
        try:
            return await self._api.get(path, decode=dict)
        except NotFound:
            return None

    def _jobs(self) -> str:
        return f"/apis/tensorflow.org/v1alpha1/namespaces/{self._namespace}/tfjobs"

    def _children(self, spec: dict[str, Any]) -> list[str]:
        runtime = spec["RuntimeId"]
        jobs = f"/apis/batch/v1/namespaces/{self._namespace}/jobs"
        services = f"/api/v1/namespaces/{self._namespace}/services"
        deployments = f"/apis/apps/v1/namespaces/{self._namespace}/deployments"
        board = f"tensorboard-{runtime}"
        replicas = [f"{jobs}/{each}-{runtime}-0" for each in REPLICAS]
        if "tensorboard" not in spec:
            return replicas
        return [*replicas, f"{deployments}/{board}", f"{services}/{board}"]


async def checked(options: argparse.Namespace, number: int) -> bool:
    name = f"e2e-test-job-{''.join(secrets.choice(ALPHABET) for _ in range(4))}"
    async with Api(load()) as api:
        check = Check(
            api, options.namespace, name=name, seconds=options.timeout, pause=options.poll
        )
        try:
            await check.run(job_named(name, image=options.image, command=options.command))
        except Exception as fault:
            print(f"not ok {number} - {name}: {type(fault).__name__}: {fault}", flush=True)
            return False
    print(f"ok {number} - {name} succeeded and left nothing behind", flush=True)
    return True


async def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--image", required=True)
    parser.add_argument("--num_jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=300, metavar="SECONDS")
    parser.add_argument("--poll", type=float, default=5, metavar="SECONDS")
    parser.add_argument("--namespace", default="default")
    parser.add_argument(
        "command", nargs="*", help="command of the replicas (default: that of the image)"
    )
    options = parser.parse_args()
    print(f"1..{options.num_jobs}", flush=True)
    numbers = range(1, options.num_jobs + 1)
    return 0 if all(await asyncio.gather(*(checked(options, each) for each in numbers))) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
