"""Objects that exceed a ResourceQuota are rejected, and its status shows the usage."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tfjob.client.config import from_kubeconfig
from tfjob.client.errors import ApiError
from tfjob.client.http import Api
from tfjob.local.apiserver.server import ApiServer

Json = dict[str, Any]
CORE = "/api/v1/namespaces/default"
QUOTAS = f"{CORE}/resourcequotas"
PODS = f"{CORE}/pods"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    async with ApiServer(tmp_path / "data") as server:
        client = Api(from_kubeconfig(server.kubeconfig_path))
        yield client
        await client.close()


async def limit(api: Api, **hard: str) -> None:
    named = {name.replace("__", "/").replace("_", "."): text for name, text in hard.items()}
    body = {"metadata": {"name": "q"}, "spec": {"hard": named}}
    await api.create(QUOTAS, body, decode=dict)


async def used(api: Api) -> Json:
    quota: Json = await api.get(f"{QUOTAS}/q", decode=dict)
    found: Json = quota["status"]["used"]
    return found


def pod(name: str, **resources: Json) -> Json:
    container = {"name": "c", "image": "a", "resources": resources}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}


async def create(api: Api, *pods: Json) -> None:
    for each in pods:
        await api.create(PODS, each, decode=dict)


async def refused(api: Api, path: str, body: Json) -> str:
    with pytest.raises(ApiError) as caught:
        await api.create(path, body, decode=dict)
    return caught.value.message


async def test_a_pod_beyond_the_quota_is_rejected(api: Api) -> None:
    await limit(api, pods="1")
    await create(api, pod("a"))
    assert await refused(api, PODS, pod("b")) == (
        'pods "b" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'
    )


async def test_usage_is_shown_from_the_start_and_follows_pods(api: Api) -> None:
    await create(api, pod("a", requests={"cpu": "500m"}))
    await limit(api, pods="5", requests_cpu="2", count__pods="9")
    assert await used(api) == {"pods": "1", "requests.cpu": "500m", "count/pods": "1"}
    await create(api, pod("b", limits={"cpu": "1"}))
    assert await used(api) == {"pods": "2", "requests.cpu": "1500m", "count/pods": "2"}
    status = {"status": {"phase": "Succeeded"}}
    await api.patch(f"{PODS}/b/status", status, decode=dict)
    assert await used(api) == {"pods": "1", "requests.cpu": "500m", "count/pods": "2"}


async def test_a_raised_quota_admits_the_next_pod(api: Api) -> None:
    await limit(api, pods="0")
    assert "exceeded quota" in await refused(api, PODS, pod("a"))
    await api.patch(f"{QUOTAS}/q", {"spec": {"hard": {"pods": "1"}}}, decode=dict)
    await create(api, pod("a"))
    assert await used(api) == {"pods": "1"}


async def test_gpus_are_counted_by_their_requests(api: Api) -> None:
    body = {"metadata": {"name": "q"}, "spec": {"hard": {"requests.nvidia.com/gpu": "1"}}}
    await api.create(QUOTAS, body, decode=dict)
    words = await refused(api, PODS, pod("a", limits={"nvidia.com/gpu": "2"}))
    assert "requested: requests.nvidia.com/gpu=2, used: requests.nvidia.com/gpu=0" in words
    await create(api, pod("b", limits={"nvidia.com/gpu": "1"}))


async def test_pod_must_specify_what_the_quota_counts(api: Api) -> None:
    await limit(api, cpu="4", limits_memory="1Gi")
    assert await refused(api, PODS, pod("a")) == (
        'pods "a" is forbidden: failed quota: q: must specify cpu for: c; limits.memory for: c'
    )


@pytest.mark.parametrize("name", ["configmaps", "count/configmaps"])
async def test_objects_of_other_kinds_are_counted(api: Api, name: str) -> None:
    body = {"metadata": {"name": "q"}, "spec": {"hard": {name: "1"}}}
    await api.create(QUOTAS, body, decode=dict)
    await api.create(f"{CORE}/configmaps", {"metadata": {"name": "a"}}, decode=dict)
    words = await refused(api, f"{CORE}/configmaps", {"metadata": {"name": "b"}})
    assert words.startswith('configmaps "b" is forbidden: exceeded quota: q, requested')


async def test_a_quota_of_another_namespace_does_not_apply(api: Api) -> None:
    path = "/api/v1/namespaces/kube-public/resourcequotas"
    body = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}}
    await api.create(path, body, decode=dict)
    await create(api, pod("a"))


async def test_scopes_are_rejected_by_name(api: Api) -> None:
    body = {"metadata": {"name": "q"}, "spec": {"hard": {}, "scopes": ["Terminating"]}}
    assert "spec.scopes: Forbidden: scopes are not supported" in await refused(api, QUOTAS, body)
