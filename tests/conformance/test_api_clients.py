"""Unpatched clients against the local API server: kubectl and lightkube."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import aiohttp
import lightkube
import pytest
from lightkube.core.exceptions import ApiError
from lightkube.models.core_v1 import Container, PodSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap, Pod

from tfjob.local.apiserver.server import ApiServer

Kubectl = Callable[..., Coroutine[Any, Any, str]]
KUBECTL = shutil.which("kubectl")
needs_kubectl = pytest.mark.skipif(
    KUBECTL is None, reason="NO KUBECTL ON PATH: the local API server was not tried with it"
)
MAPS = "/api/v1/namespaces/default/configmaps"
POD = """
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: x}}
spec: {containers: [{name: a, image: b}]}
"""
WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    additionalPrinterColumns: [{name: Replicas, type: integer, jsonPath: .spec.replicas}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {replicas: {type: integer, description: How many.}}}
---
"""
WIDGET = """
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
spec: {replicas: 2}
"""


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ApiServer]:
    async with ApiServer(tmp_path) as server:
        yield server


@pytest.fixture
def kubectl(server: ApiServer, tmp_path: Path) -> Kubectl:
    async def run(*words: str, given: str = "", code: int = 0) -> str:
        process = await asyncio.create_subprocess_exec(
            KUBECTL or "kubectl",
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={"KUBECONFIG": str(server.kubeconfig_path), "HOME": str(tmp_path)},
        )
        output, _ = await process.communicate(given.encode())
        assert process.returncode == code, output.decode()
        return output.decode().strip()

    return run


@needs_kubectl
async def test_kubectl_applies_changes_and_deletes(kubectl: Kubectl) -> None:
    assert await kubectl("apply", "-f", "-", given=POD) == "pod/p created"
    assert await kubectl("apply", "-f", "-", given=POD) == "pod/p unchanged"
    changed = POD.replace("image: b", "image: c")
    assert await kubectl("apply", "-f", "-", given=changed) == "pod/p configured"
    assert "serverside-applied" in await kubectl("apply", "--server-side", "-f", "-", given=changed)
    assert await kubectl("get", "pod", "p", "-o", "jsonpath={.spec.containers[0].image}") == "c"
    assert "Pending" in await kubectl("get", "pods", "-l", "app=x")
    assert "Service Account:  default" in await kubectl("describe", "pod", "p")
    assert "deleted" in await kubectl("delete", "pod", "p")
    await kubectl("wait", "--for=delete", "pod/p", "--timeout=120s")


@needs_kubectl
async def test_kubectl_tells_a_misspelt_field(kubectl: Kubectl) -> None:
    wrong = POD.replace("image: b", "image: b, comand: [x]")
    answer = await kubectl("apply", "-f", "-", given=wrong, code=1)
    assert 'unknown field "spec.containers[0].comand"' in answer


@needs_kubectl
async def test_kubectl_works_with_custom_kinds(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", given=WIDGETS)
    await kubectl(
        "wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=120s"
    )
    await kubectl("apply", "-f", "-", given=WIDGET)
    assert "scaled" in await kubectl("scale", "widget", "w", "--replicas=4")
    table = (await kubectl("get", "wd")).splitlines()
    assert [line.split() for line in table] == [["NAME", "REPLICAS"], ["w", "4"]]
    assert "How many." in await kubectl("explain", "widget.spec.replicas")


@needs_kubectl
async def test_kubectl_creates_by_protobuf(kubectl: Kubectl) -> None:
    assert await kubectl("create", "namespace", "n") == "namespace/n created"
    await kubectl("create", "configmap", "c", "-n", "n", "--from-literal=k=v")
    assert json.loads(await kubectl("get", "cm", "c", "-n", "n", "-o", "jsonpath={.data}")) == {
        "k": "v"
    }
    await kubectl("delete", "namespace", "n")


async def test_lightkube_works(server: ApiServer) -> None:
    config = lightkube.KubeConfig.from_file(server.kubeconfig_path)
    client = lightkube.AsyncClient(config=config, namespace="default")
    pod = Pod(
        metadata=ObjectMeta(name="p", labels={"app": "x"}),
        spec=PodSpec(containers=[Container(name="a", image="b")]),
    )
    made = await client.create(pod)
    assert made.status is not None
    assert made.status.phase == "Pending"
    listed = [
        each.metadata.name async for each in client.list(Pod, labels={"app": "x"}) if each.metadata
    ]
    assert listed == ["p"]
    patched = await client.patch(Pod, "p", {"metadata": {"labels": {"z": "1"}}})
    assert patched.metadata is not None
    assert patched.metadata.labels == {"app": "x", "z": "1"}
    with pytest.raises(ApiError) as missing:
        await client.get(ConfigMap, "none")
    assert missing.value.status.code == 404
    await client.delete(Pod, "p")
    await client.close()


async def test_two_hundred_watchers_lose_nothing(tmp_path: Path) -> None:
    count, watchers = 50, 200
    names = [f"n{number:02}" for number in range(count)]
    async with ApiServer(tmp_path, tls=False) as server:
        headers = {"Authorization": f"Bearer {server.token}"}
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(
            server.url, headers=headers, connector=connector
        ) as client:
            follow = [asyncio.create_task(_follow(client, count)) for _ in range(watchers)]
            for name in names:
                body = {"metadata": {"name": name}}
                async with client.post(MAPS, json=body) as answer:
                    assert answer.status == 201
            assert await asyncio.gather(*follow) == [names] * watchers


async def _follow(client: aiohttp.ClientSession, count: int) -> list[str]:
    seen: list[str] = []
    async with client.get(f"{MAPS}?watch=1&timeoutSeconds=30") as answer:
        async for line in answer.content:
            seen.append(json.loads(line)["object"]["metadata"]["name"])
            if len(seen) == count:
                break
    return seen
