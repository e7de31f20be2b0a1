"""No log message contains a token of the operator or secrets from jobs."""

import asyncio
import logging
from typing import Any

import msgspec
import pytest

from tests.support.fake_api import FakeApi, text
from tests.support.fake_time import Instant
from tests.support.simulation import virtual_time
from tests.support.simulation.cluster import QUIET, SimulatedCluster, simulated
from tests.support.simulation.connection import Connection
from tests.support.tfjobs import tfjob
from tfjob.client.config import Config
from tfjob.client.credentials import bearer
from tfjob.client.errors import ApiError
from tfjob.client.http import Api, PartialObjectMetadata
from tfjob.client.request import Request
from tfjob.client.watch_codec import LineDecoder, MalformedLine
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.k8s.pod import Pod
from tfjob.local.apiserver.request import Answer
from tfjob.manager import logs
from tfjob.manager.app import Environment, Operator

JOBS = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"
TOKEN = "token-of-the-operator"  # noqa: S105 - what must not be logged
PASSWORD = "password-of-a-user"  # noqa: S105 - the same


def a_job(name: str, **container: Any) -> dict[str, Any]:
    job = tfjob("W2", name=name)
    template = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    template["containers"][0] |= {"env": [{"name": "PASSWORD", "value": PASSWORD}], **container}
    return job


def an_operator(world: SimulatedCluster) -> Operator:
    world.connections.append(Connection(world.backend, world.injector))
    return Operator(
        Config(server="http://played.invalid", credentials=bearer(TOKEN)),
        QUIET,
        dialects=(KubeflowV1(),),
        identity="me",
        environment=Environment(
            connect=world.connections[-1].connect,
            timing=virtual_time.timing(world.chance.random),
            now=virtual_time.now,
        ),
    )


def refuse_some(request: Request) -> Answer | None:
    """Refused and failed requests, each of which is logged."""
    if request.verb == "create" and b"refused-" in (request.body or b""):
        status = {"kind": "Status", "reason": "Forbidden", "message": "exceeded quota"}
        return Answer(code=403, body=msgspec.json.encode(status))
    if request.verb == "create" and b"broken-" in (request.body or b""):
        return Answer(code=500, body=b"etcd has no leader")
    if request.path.endswith("/lost/status"):
        return Answer(code=401, body=b"who are you")
    return None


def test_operator_with_errors_reveals_neither_its_token_nor_secrets_of_jobs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in the debug log, which has every decision, nor in events and statuses."""
    told: list[str] = []

    async def act(world: SimulatedCluster) -> None:
        await world.start(KubeflowV1())
        operator = an_operator(world)
        world.connections[0].refuse = refuse_some
        running = asyncio.create_task(operator.run())
        for name in ("fine", "refused", "broken", "lost"):
            await world.ask("POST", JOBS, a_job(name))
        await world.ask(
            "POST", JOBS, a_job("odd", env=[PASSWORD, {"name": "A", "value": {"x": PASSWORD}}])
        )
        await asyncio.sleep(120)
        world.injector.is_calm = False
        await asyncio.sleep(120)
        world.injector.is_calm = True
        operator.stop()
        await running
        jobs = (await world.ask("GET", JOBS))["items"]
        events = (await world.ask("GET", "/api/v1/namespaces/default/events"))["items"]
        told.extend(str(each) for each in (*events, *(job.get("status") for job in jobs)))

    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)
    logs.set_up(style="json", level="debug")
    simulated(act, lambda: SimulatedCluster(dialects=(KubeflowV1(),)))
    logged = capsys.readouterr().err
    assert "reconcile incomplete" in logged
    assert "exceeded quota" in logged
    assert "MissingReplica" in logged
    assert any("InvalidTFJobSpec" in each for each in told)
    for secret in (TOKEN, PASSWORD):
        assert secret not in logged
        assert [each for each in told if secret in each] == []


async def test_errors_of_requests_name_neither_token_nor_body() -> None:
    async with FakeApi([text("who are you", status=401), text("no", status=500)]) as fake:
        async with Api(
            Config(server=fake.url, credentials=bearer(TOKEN)), timing=Instant().timing
        ) as api:
            for _ in range(2):
                with pytest.raises(ApiError) as caught:
                    await api.create(
                        "/api/v1/pods", {"password": PASSWORD}, decode=PartialObjectMetadata
                    )
                shown = f"{caught.value} {caught.value!r}"
                assert TOKEN not in shown
                assert PASSWORD not in shown
        assert fake.asked[0].headers["Authorization"] == f"Bearer {TOKEN}"


def test_a_line_that_was_cut_is_not_shown() -> None:
    line = b'{"type":"ADDED","object":{"env":"' + PASSWORD.encode()
    with pytest.raises(MalformedLine) as caught:
        LineDecoder(Pod).line(line)
    assert PASSWORD not in str(caught.value)
    assert f"{len(line)} bytes" in str(caught.value)


async def test_a_token_that_cannot_be_sent_is_not_shown() -> None:
    credentials = bearer(f"{TOKEN}\x00")
    async with Api(Config(server="http://played.invalid", credentials=credentials)) as api:
        with pytest.raises(ApiError, match="control characters") as caught:
            await api.get("/api/v1/nodes/n", decode=PartialObjectMetadata)
    assert TOKEN not in str(caught.value)
