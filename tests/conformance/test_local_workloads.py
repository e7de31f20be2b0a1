"""Deployments and Jobs on this machine: the local API server and node together, seen by kubectl."""

import asyncio
import json
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.patience import PATIENCE
from tfjob.client.config import from_kubeconfig
from tfjob.client.events import EventRecorder
from tfjob.client.http import Api
from tfjob.local.apiserver.server import ApiServer
from tfjob.local.node.agent import NodeAgent
from tfjob.local.node.client_api import ClientApi
from tfjob.local.node.machine import settings_of_machine
from tfjob.local.node.restart_policy import Backoff

Json = dict[str, Any]
KUBECTL = shutil.which("kubectl")
needs_kubectl = pytest.mark.skipif(
    KUBECTL is None, reason="NO KUBECTL ON PATH: local workloads were not tried with it"
)
PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SERVER = """
import http.server, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
where = (options["--host"], int(options["--port"]))
http.server.ThreadingHTTPServer(where, http.server.SimpleHTTPRequestHandler).serve_forever()
"""


class Machine:
    """A local cluster without an operator."""

    def __init__(self, folder: Path, server: ApiServer, api: Api) -> None:
        self.folder, self.server, self.api = folder, server, api

    async def kubectl(self, *words: str, given: str = "", code: int = 0, editor: str = "") -> str:
        process = await asyncio.create_subprocess_exec(
            KUBECTL or "kubectl",
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={
                "KUBECONFIG": str(self.server.kubeconfig_path),
                "HOME": str(self.folder),
                "PATH": os.environ["PATH"],
                "EDITOR": editor,
            },
        )
        output, _ = await process.communicate(given.encode())
        assert process.returncode == code, output.decode()
        return output.decode().strip()

    async def create(self, path: str, body: Json) -> None:
        await self.api.create(path, body, decode=dict[str, Any])

    async def get(self, path: str) -> Json:
        return await self.api.get(path, decode=dict[str, Any])

    async def until(self, path: str, question: Callable[[Json], object]) -> Json:
        """The answer to a request once it is as asked for."""
        deadline = time.monotonic() + PATIENCE
        while not question(found := await self.get(path)):
            assert time.monotonic() < deadline, f"{path} is not as expected: {json.dumps(found)}"
            await asyncio.sleep(0.02)
        return found


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    quick = Backoff(base=0.05, limit=0.2, reset_after=600)
    settings = settings_of_machine(
        tmp_path / "node", workdir=tmp_path, environ=os.environ, backoff=quick
    )
    async with ApiServer(tmp_path) as server, Api(from_kubeconfig(server.kubeconfig_path)) as api:
        recorder = EventRecorder(api, component="node")
        agent = NodeAgent(ClientApi(api, recorder), settings)
        tasks = [asyncio.create_task(work) for work in (agent.run(), recorder.run())]
        yield Machine(tmp_path, server, api)
        await agent.stop()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def board(name: str = "board", *, image: str = "one") -> Json:
    labels = {"app": name}
    words = [sys.executable, "-c", SERVER, "--host", "0.0.0.0", "--port", "6006"]  # noqa: S104 - as in a container
    container = {"name": name, "image": image, "command": words, "ports": [{"containerPort": 6006}]}
    pod = {"terminationGracePeriodSeconds": 0, "containers": [container]}
    spec = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    meta = {"name": name}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


def job(command: str, *, policy: str, limit: int = 2147483647) -> Json:
    container = {"name": "tensorflow", "image": "none", "command": ["sh", "-c", command]}
    template = {"spec": {"restartPolicy": policy, "containers": [container]}}
    return {"metadata": {"name": "j"}, "spec": {"backoffLimit": limit, "template": template}}


def is_available(deployment: Json) -> bool:
    return bool(deployment["status"].get("availableReplicas"))


@needs_kubectl
async def test_a_deployment_is_rolled_out_restarted_and_undone(machine: Machine) -> None:
    await machine.kubectl("apply", "-f", "-", given=json.dumps(board()))
    status = ("rollout", "status", "deploy/board", "--timeout=120s")
    assert 'deployment "board" successfully rolled out' in await machine.kubectl(*status)
    row = (await machine.kubectl("get", "deploy", "board")).splitlines()[1].split()
    assert row[:4] == ["board", "1/1", "1", "1"]
    assert "NewReplicaSetAvailable" in await machine.kubectl("describe", "deploy", "board")
    await machine.kubectl("rollout", "restart", "deploy/board")
    assert "successfully rolled out" in await machine.kubectl(*status)
    await machine.kubectl("rollout", "undo", "deploy/board")
    assert "successfully rolled out" in await machine.kubectl(*status)
    history = (await machine.kubectl("rollout", "history", "deploy/board")).split()
    assert ("2" in history, "3" in history, "1" in history) == (True, True, False)


@needs_kubectl
async def test_a_deployment_is_scaled_and_deleted(machine: Machine) -> None:
    await machine.create(DEPLOYMENTS, board())
    await machine.until(f"{DEPLOYMENTS}/board", is_available)
    await machine.kubectl("scale", "deploy/board", "--replicas=0")
    await machine.until(PODS, lambda found: found["items"] == [])
    await machine.kubectl("scale", "deploy/board", "--replicas=1")
    await machine.until(f"{DEPLOYMENTS}/board", is_available)
    await machine.kubectl("delete", "deploy", "board")
    await machine.until(PODS, lambda found: found["items"] == [])


async def test_a_service_leads_to_the_pod_through_the_api(machine: Machine) -> None:
    (machine.folder / "hello.json").write_text('"hello"')
    spec = {"selector": {"app": "board"}, "ports": [{"port": 80, "targetPort": 6006}]}
    services = "/api/v1/namespaces/default/services"
    await machine.create(services, {"metadata": {"name": "board"}, "spec": spec})
    await machine.create(DEPLOYMENTS, board())
    await machine.until(f"{DEPLOYMENTS}/board", is_available)
    url = f"{services}/board:80/proxy/hello.json"
    assert await machine.api.get(url, decode=str) == "hello"


async def test_a_server_that_dies_comes_back(machine: Machine) -> None:
    await machine.create(DEPLOYMENTS, board())
    await machine.until(f"{DEPLOYMENTS}/board", is_available)
    before = (await machine.get(PODS))["items"][0]
    await machine.api.delete(f"{PODS}/{before['metadata']['name']}")
    found = await machine.until(
        PODS, lambda found: [p for p in found["items"] if is_other(p, before) and url_of(p)]
    )
    assert all(is_other(pod, before) for pod in found["items"] if url_of(pod))


def is_other(pod: Json, before: Json) -> bool:
    return bool(pod["metadata"]["uid"] != before["metadata"]["uid"])


def url_of(pod: Json) -> str:
    return str((pod["metadata"].get("annotations") or {}).get("tfjob.dev/url", ""))


async def test_a_job_that_is_restarted_in_place_succeeds_in_its_first_pod(
    machine: Machine,
) -> None:
    """Nine failures are more than the limit that Jobs have by default."""
    command = "echo x >> runs; [ $(wc -l < runs) -ge 10 ]"
    await machine.create(JOBS, job(command, policy="OnFailure"))
    done = await machine.until(f"{JOBS}/j", lambda one: one["status"].get("succeeded"))
    assert "failed" not in done["status"]
    (pod,) = (await machine.get(PODS))["items"]
    (container,) = pod["status"]["containerStatuses"]
    assert (container["restartCount"], container["state"]["terminated"]["exitCode"]) == (9, 0)


async def test_a_container_shows_its_last_end_while_it_runs_again(machine: Machine) -> None:
    command = "[ -e was ] && sleep 600; touch was; exit 143"
    await machine.create(JOBS, job(command, policy="OnFailure"))

    def is_running_again(found: Json) -> bool:
        known = [pod["status"].get("containerStatuses") or () for pod in found["items"]]
        statuses = [one for each in known for one in each]
        return any("running" in one["state"] and one["restartCount"] for one in statuses)

    found = await machine.until(PODS, is_running_again)
    last = found["items"][0]["status"]["containerStatuses"][0]["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"]) == (143, "Error")
    assert (await machine.get(f"{JOBS}/j"))["status"]["active"] == 1


async def test_a_failed_pod_stays_and_another_follows(machine: Machine) -> None:
    command = "[ -e was ] && exit 0; touch was; exit 2"
    await machine.create(JOBS, job(command, policy="Never"))
    done = await machine.until(f"{JOBS}/j", lambda one: one["status"].get("succeeded"))
    assert (done["status"]["succeeded"], done["status"]["failed"]) == (1, 1)
    pods = (await machine.get(PODS))["items"]
    assert sorted(pod["status"]["phase"] for pod in pods) == ["Failed", "Succeeded"]


async def test_a_job_at_its_limit_has_failed(machine: Machine) -> None:
    await machine.create(JOBS, job("exit 1", policy="Never", limit=0))
    found = await machine.until(f"{JOBS}/j", lambda one: len(one["status"].get("conditions", ())))
    assert found["status"]["conditions"][-1]["reason"] == "BackoffLimitExceeded"


async def test_a_job_runs_a_script_of_a_config_map(machine: Machine) -> None:
    script = "import pathlib, sys; pathlib.Path('told').write_text(' '.join(sys.argv[1:]))"
    await machine.create(CONFIG_MAPS, {"metadata": {"name": "cm"}, "data": {"serve.py": script}})
    one = job("true", policy="OnFailure")
    pod = one["spec"]["template"]["spec"]
    pod["volumes"] = [{"name": "v", "configMap": {"name": "cm"}}]
    pod["containers"][0] |= {
        "command": ["python", "/ps-server/serve.py", "--job_name", "ps"],
        "volumeMounts": [{"name": "v", "mountPath": "/ps-server"}],
    }
    await machine.create(JOBS, one)
    await machine.until(f"{JOBS}/j", lambda found: found["status"].get("succeeded"))
    assert (machine.folder / "told").read_text() == "--job_name ps"


async def test_a_deleted_job_deletes_its_running_pods(machine: Machine) -> None:
    await machine.create(JOBS, job("sleep 600", policy="OnFailure"))
    await machine.until(PODS, lambda found: found["items"] and phase_of(found) == "Running")
    await machine.api.delete(f"{JOBS}/j")
    await machine.until(PODS, lambda found: found["items"] == [])


def phase_of(found: Json) -> str:
    return str(found["items"][0]["status"]["phase"])


@needs_kubectl
async def test_an_object_can_be_edited(machine: Machine) -> None:
    await machine.create(CONFIG_MAPS, {"metadata": {"name": "c"}, "data": {"word": "before"}})
    editor = machine.folder / "editor.sh"
    editor.write_text("#!/bin/sh\nsed -i s/before/after/ $1\n")
    editor.chmod(0o700)
    said = await machine.kubectl("edit", "configmap", "c", editor=str(editor))
    assert said == "configmap/c edited"
    assert (await machine.get(f"{CONFIG_MAPS}/c"))["data"] == {"word": "after"}


@needs_kubectl
@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("exec", "p", "--", "ls"), "pods/exec is not supported"),
        (("attach", "p"), "pods/attach is not supported"),
        (("cp", "p:/etc/hosts", "copy"), "pods/exec is not supported"),
        (("port-forward", "pod/p", ":80"), "pods/portforward is not supported"),
    ],
)
async def test_seed_002_line_113_what_needs_a_container_is_rejected_in_words(
    machine: Machine, words: tuple[str, ...], refusal: str
) -> None:
    container = {"name": "a", "image": "b", "command": ["sleep", "600"]}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
    await machine.create(PODS, pod)
    await machine.until(f"{PODS}/p", lambda found: found["status"]["phase"] == "Running")
    said = await machine.kubectl(*words, code=1)
    assert f"{refusal} by the local API server of tfjob: a pod" in said
