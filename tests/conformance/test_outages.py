"""An API server that restarts, hangs, or no longer knows us: the operator waits and goes on."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.controlplane.cluster import ControlPlane, PlaneStarter
from tests.support.controlplane.endpoint import ApiError, Endpoint
from tests.support.controlplane.puppet import runs
from tests.support.own_server import OwnServer
from tests.support.scene import Scene, counts_of, scene_in
from tests.support.world_fixtures import WORLDS
from tests.support.worlds import World

Json = dict[str, Any]


@pytest.fixture(params=WORLDS)
def fragile(
    request: pytest.FixtureRequest, start_control_plane: PlaneStarter, tmp_path: Path
) -> Iterator[World]:
    """A world of its own, to be maltreated."""
    own: OwnServer | None = None
    if request.param == "own":
        own = OwnServer(tmp_path)
        own.start()
    world = World(request.param, own or start_control_plane())
    try:
        world.operator.start()
        yield world
    finally:
        world.close()
        if own is not None:
            own.stop()


async def both_run(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    await scene.submit("W2", restart="ExitCode")
    await scene.until("both run", lambda job: counts_of(job) == {"active": 2})


async def goes_on(scene: Scene) -> None:
    """What was running can end, and what is new can start."""
    await scene.puppet.finish("j-worker-0", exit_code=0)
    await scene.comes_to("Succeeded")
    await scene.submit("W1", name="k")
    await scene.reaches("Created", "Running", name="k")


@pytest.mark.scenario("R37", "R38")
async def test_operator_outlives_a_restart_of_the_api_server(fragile: World) -> None:
    async with scene_in(fragile) as scene:
        await both_run(scene)
        before = {name: pod["metadata"]["uid"] for name, pod in (await scene.pods()).items()}
        await asyncio.to_thread(fragile.server.restart_apiserver)
        await goes_on(scene)
        after = {name: pod["metadata"]["uid"] for name, pod in (await scene.pods()).items()}
        assert before.items() <= after.items()
        assert fragile.operator.is_alive


@pytest.mark.scenario("R37")
async def test_operator_outlives_an_api_server_that_hangs(fragile: World) -> None:
    async with scene_in(fragile) as scene:
        await both_run(scene)
        await scene.submit("W4", name="late")
        fragile.server.pause_apiserver()
        try:
            for _ in range(20):
                assert fragile.operator.probe("/healthz") == 200
                await asyncio.sleep(0.1)
        finally:
            fragile.server.resume_apiserver()
        await scene.reaches("Created", "Running", name="late")
        await goes_on(scene)


@pytest.mark.scenario("R24")
async def test_job_deleted_while_nobody_watched_leaves_nothing_behind(scene: Scene) -> None:
    await both_run(scene)
    scene.world.operator.pause()
    await scene.delete()
    await scene.gone()
    await scene.children()
    scene.world.operator.resume()
    await scene.settled()
    await scene.children()


async def test_operator_whose_token_expired_goes_on_with_the_next_one(
    control_plane: ControlPlane, kubernetes_world: World, tmp_path: Path
) -> None:
    """A token that is bound to a Secret ends with it; a new one comes into the same file."""
    kubernetes_world.operator.kill()
    async with scene_in(kubernetes_world) as scene:
        token_file = tmp_path / "token"
        await _account(scene)
        token = await _token(scene, "first")
        token_file.write_text(token)
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(_with_token_file(control_plane.endpoint, token_file))
        operator = kubernetes_world.new_operator(name="bearer", kubeconfig=kubeconfig)
        operator.start()
        await both_run(scene)

        await scene.call("DELETE", f"/api/v1/namespaces/{scene.namespace}/secrets/first")
        await _until_unknown(scene, token)
        await scene.submit("W1", name="late")

        async def is_refused() -> bool:
            found = operator.metrics()
            return any('code="401"' in name and value > 2 for name, value in found.items())

        await scene.eventually("the operator is refused", is_refused, name="late")
        assert operator.is_alive
        token_file.write_text(await _token(scene, "second"))
        await scene.reaches("Created", "Running", name="late")
        operator.close()


async def _account(scene: Scene) -> None:
    base = f"/api/v1/namespaces/{scene.namespace}/serviceaccounts"
    await scene.call("POST", base, {"metadata": {"name": "operator"}})
    subject = {"kind": "ServiceAccount", "name": "operator", "namespace": scene.namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    binding = {"metadata": {"name": scene.namespace}, "roleRef": role, "subjects": [subject]}
    await scene.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)


async def _token(scene: Scene, secret: str) -> str:
    base = f"/api/v1/namespaces/{scene.namespace}"
    made = await scene.call("POST", f"{base}/secrets", {"metadata": {"name": secret}})
    bound = {"apiVersion": "v1", "kind": "Secret", "name": secret, "uid": made["metadata"]["uid"]}
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    path = f"{base}/serviceaccounts/operator/token"
    answer = await scene.call("POST", path, {**body, "spec": {"boundObjectRef": bound}})
    token: str = answer["status"]["token"]
    return token


async def _until_unknown(scene: Scene, token: str) -> None:
    endpoint = scene.world.endpoint
    bearer = Endpoint(server=endpoint.server, token=token, certificate=endpoint.certificate)

    async def is_unknown() -> bool:
        try:
            await asyncio.to_thread(bearer.request, "GET", "/api/v1/pods?limit=1")
        except ApiError as refusal:
            return refusal.status == 401
        return False

    await scene.eventually("the token is unknown", is_unknown)


def _with_token_file(endpoint: Endpoint, token_file: Path) -> str:
    document = yaml.safe_load(endpoint.kubeconfig())
    document["users"][0]["user"] = {"tokenFile": str(token_file)}
    return yaml.safe_dump(document)
