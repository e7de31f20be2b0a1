"""An API server that restarts, hangs, or rejects the token: the operator waits and continues."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.controlplane.cluster import ControlPlane, PlaneStarter
from tests.support.controlplane.endpoint import ApiError, Endpoint
from tests.support.environment_fixtures import ENVIRONMENTS
from tests.support.environments import Environment
from tests.support.fake_kubelet.driver import runs
from tests.support.job_fixture import JobFixture, counts_of, job_fixture_in
from tests.support.local_apiserver.process import ApiServerProcess

Json = dict[str, Any]


@pytest.fixture(params=ENVIRONMENTS)
def fragile(
    request: pytest.FixtureRequest, start_control_plane: PlaneStarter, tmp_path: Path
) -> Iterator[Environment]:
    """An environment of its own, whose server is stopped and paused."""
    own: ApiServerProcess | None = None
    if request.param == "local":
        own = ApiServerProcess(tmp_path)
        own.start()
    env = Environment(request.param, own or start_control_plane())
    try:
        env.operator.start()
        yield env
    finally:
        env.close()
        if own is not None:
            own.stop()


async def both_run(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("W2", restart="ExitCode")
    await fixture.until("both run", lambda job: counts_of(job) == {"active": 2})


async def goes_on(fixture: JobFixture) -> None:
    """What was running can end, and what is new can start."""
    await fixture.kubelet.finish("j-worker-0", exit_code=0)
    await fixture.comes_to("Succeeded")
    await fixture.submit("W1", name="k")
    await fixture.reaches("Created", "Running", name="k")


@pytest.mark.scenario("R37", "R38")
async def test_operator_outlives_a_restart_of_the_api_server(fragile: Environment) -> None:
    async with job_fixture_in(fragile) as fixture:
        await both_run(fixture)
        before = {name: pod["metadata"]["uid"] for name, pod in (await fixture.pods()).items()}
        await asyncio.to_thread(fragile.server.restart_apiserver)
        await goes_on(fixture)
        after = {name: pod["metadata"]["uid"] for name, pod in (await fixture.pods()).items()}
        assert before.items() <= after.items()
        assert fragile.operator.is_alive


@pytest.mark.scenario("R37")
async def test_operator_outlives_an_api_server_that_hangs(fragile: Environment) -> None:
    async with job_fixture_in(fragile) as fixture:
        await both_run(fixture)
        await fixture.submit("W4", name="late")
        fragile.server.pause_apiserver()
        try:
            for _ in range(20):
                assert fragile.operator.probe("/healthz") == 200
                await asyncio.sleep(0.1)
        finally:
            fragile.server.resume_apiserver()
        await fixture.reaches("Created", "Running", name="late")
        await goes_on(fixture)


@pytest.mark.scenario("R24")
async def test_job_deleted_while_nobody_watched_leaves_nothing_behind(fixture: JobFixture) -> None:
    await both_run(fixture)
    fixture.env.operator.pause()
    await fixture.delete()
    await fixture.gone()
    await fixture.children()
    fixture.env.operator.resume()
    await fixture.settled()
    await fixture.children()


async def test_operator_whose_token_expired_continues_with_the_next_one(
    control_plane: ControlPlane, kubernetes_env: Environment, tmp_path: Path
) -> None:
    """A token that is bound to a Secret ends with it; a new one comes into the same file."""
    kubernetes_env.operator.kill()
    async with job_fixture_in(kubernetes_env) as fixture:
        token_file = tmp_path / "token"
        await _account(fixture)
        token = await _token(fixture, "first")
        token_file.write_text(token)
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(_with_token_file(control_plane.endpoint, token_file))
        operator = kubernetes_env.new_operator(name="bearer", kubeconfig=kubeconfig)
        operator.start()
        await both_run(fixture)

        await fixture.call("DELETE", f"/api/v1/namespaces/{fixture.namespace}/secrets/first")
        await _until_unknown(fixture, token)
        await fixture.submit("W1", name="late")

        async def is_refused() -> bool:
            found = operator.metrics()
            return any('code="401"' in name and value > 2 for name, value in found.items())

        await fixture.eventually("the operator is refused", is_refused, name="late")
        assert operator.is_alive
        token_file.write_text(await _token(fixture, "second"))
        await fixture.reaches("Created", "Running", name="late")
        operator.close()


async def _account(fixture: JobFixture) -> None:
    base = f"/api/v1/namespaces/{fixture.namespace}/serviceaccounts"
    await fixture.call("POST", base, {"metadata": {"name": "operator"}})
    subject = {"kind": "ServiceAccount", "name": "operator", "namespace": fixture.namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    binding = {"metadata": {"name": fixture.namespace}, "roleRef": role, "subjects": [subject]}
    await fixture.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)


async def _token(fixture: JobFixture, secret: str) -> str:
    base = f"/api/v1/namespaces/{fixture.namespace}"
    made = await fixture.call("POST", f"{base}/secrets", {"metadata": {"name": secret}})
    bound = {"apiVersion": "v1", "kind": "Secret", "name": secret, "uid": made["metadata"]["uid"]}
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    path = f"{base}/serviceaccounts/operator/token"
    answer = await fixture.call("POST", path, {**body, "spec": {"boundObjectRef": bound}})
    token: str = answer["status"]["token"]
    return token


async def _until_unknown(fixture: JobFixture, token: str) -> None:
    endpoint = fixture.env.endpoint
    bearer = Endpoint(server=endpoint.server, token=token, certificate=endpoint.certificate)

    async def is_unknown() -> bool:
        try:
            await asyncio.to_thread(bearer.request, "GET", "/api/v1/pods?limit=1")
        except ApiError as refusal:
            return refusal.status == 401
        return False

    await fixture.eventually("the token is unknown", is_unknown)


def _with_token_file(endpoint: Endpoint, token_file: Path) -> str:
    document = yaml.safe_load(endpoint.kubeconfig())
    document["users"][0]["user"] = {"tokenFile": str(token_file)}
    return yaml.safe_dump(document)
