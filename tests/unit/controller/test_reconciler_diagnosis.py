"""The diagnosis as it is stored: why children are refused, and how many writes it costs."""

from contextlib import AbstractAsyncContextManager as Opened

import msgspec
import pytest

from tests.support.controller_harness import ControllerHarness
from tests.support.local_apiserver.in_memory import CORE
from tfjob.client.errors import ApiError, Forbidden, Invalid, Transient
from tfjob.client.request import Request
from tfjob.core.diagnosis.diagnosis import MAX_BYTES


def refusing_pods(harness: ControllerHarness, error: ApiError, what: str = "/pods") -> None:
    def refuse(request: Request) -> ApiError | None:
        is_create = request.verb == "create" and what in request.path
        return error if is_create else None

    harness.server.refuse = refuse


async def cause(harness: ControllerHarness) -> tuple[str, str]:
    found = (await harness.job())["status"].get("diagnosis", {})
    return found.get("cause", ""), found.get("replica", "")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Forbidden('pods "j-worker-0" is forbidden: exceeded quota: q'), "QuotaExceeded"),
        (Forbidden('violates PodSecurity "restricted:latest"'), "PodSecurityViolation"),
        (Forbidden('admission webhook "w" denied the request'), "WebhookDenied"),
        (Transient('failed calling webhook "w": refused'), "WebhookUnavailable"),
        (Forbidden('serviceaccount "robot" not found'), "ServiceAccountMissing"),
        (Invalid('Pod "j" is invalid: spec.x: Required value'), "InvalidPod"),
        (Forbidden("not you"), "CreateRefused"),
    ],
)
async def test_a_refused_pod_is_told_in_the_job_at_once(
    controller: Opened[ControllerHarness], error: ApiError, code: str
) -> None:
    async with controller as harness:
        await harness.submit("W2")
        refusing_pods(harness, error)
        await harness.one_pass()
        assert await cause(harness) == (code, "worker-0")


async def test_an_outage_is_not_told_as_a_cause(controller: Opened[ControllerHarness]) -> None:
    async with controller as harness:
        await harness.submit("W1")
        refusing_pods(harness, Transient("etcd has no leader"))
        await harness.one_pass()
        assert await cause(harness) == ("", "")


@pytest.mark.parametrize("what", ["/pods", "/services"])
async def test_a_refusal_is_written_once_and_goes_when_the_child_exists(
    controller: Opened[ControllerHarness], what: str
) -> None:
    async with controller as harness:
        await harness.submit("W1")
        refusing_pods(harness, Forbidden("exceeded quota: q"), what)
        await harness.one_pass()
        version = (await harness.job())["metadata"]["resourceVersion"]
        for _ in range(5):
            harness.elapsed += 100
            await harness.one_pass()
        assert (await harness.job())["metadata"]["resourceVersion"] == version
        harness.server.refuse = lambda _: None
        harness.elapsed += 100
        await harness.one_pass()
        await harness.one_pass()
        assert await cause(harness) == ("", "")


async def test_an_incident_costs_no_write_of_its_own(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1", restart="ExitCode")
        await harness.one_pass()
        await harness.one_pass()
        before = (await harness.job())["metadata"]["resourceVersion"]
        await harness.end_pod("j-worker-0", 137)
        writes: list[Request] = []

        def note(request: Request) -> ApiError | None:
            if request.path.endswith("/status"):
                writes.append(request)
            return None

        harness.server.refuse = note
        await harness.one_pass()
        assert (await harness.job())["metadata"]["resourceVersion"] != before
        assert len(writes) == 1
        assert await cause(harness) == ("Killed", "worker-0")


async def test_the_first_pod_of_an_earlier_job_that_does_not_go_is_named(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W3")
        for name in ("j-worker-0", "j-worker-1", "j-worker-2"):
            old = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "finalizers": ["example.com/hold"]},
                "spec": {"containers": [{"name": "c", "image": "x"}]},
            }
            await harness.server.make(f"{CORE}/pods", old)
            await harness.server.ask("DELETE", f"{CORE}/pods/{name}")
        assert (await harness.one_pass()).retries_soon
        assert await cause(harness) == ("OldPodTerminating", "worker-0")


async def test_a_diagnosis_that_the_server_refuses_does_not_hold_the_job_up(
    controller: Opened[ControllerHarness],
) -> None:
    def refuse(request: Request) -> ApiError | None:
        is_status = request.path.endswith("/status")
        has_diagnosis = b'"diagnosis":{' in (request.body or b"")
        return Invalid("status.diagnosis: too long") if is_status and has_diagnosis else None

    async with controller as harness:
        await harness.submit("W1", restart="ExitCode")
        await harness.one_pass()
        await harness.one_pass()
        harness.server.refuse = refuse
        for code in (137, 3):
            await harness.end_pod("j-worker-0", code)
            for _ in range(4):
                harness.elapsed += 100
                await harness.one_pass()
        assert "Failed" in await harness.conditions()
        assert (await harness.job())["status"]["replicaStatuses"]["Worker"]["restarts"] == 1
        assert await cause(harness) == ("", "")


async def test_hostile_output_is_cut_and_stored(controller: Opened[ControllerHarness]) -> None:
    evil = "\x1b[2J\x00\u202e{0} %s [red]\n" * 400 + "ValueError: " + "é" * 500
    async with controller as harness:
        await harness.submit("W1", restart="Never")
        await harness.one_pass()
        await harness.one_pass()
        await harness.kubelet.finish("j-worker-0", exit_code=1, message=evil)
        await harness.one_pass()
        assert await cause(harness) == ("PythonError", "worker-0")
        found = (await harness.job())["status"]["diagnosis"]
        assert len(msgspec.json.encode(found)) <= MAX_BYTES
        shown = "".join(str(found[field]) for field in ("message", "lastLines", "reason"))
        assert not {sign for sign in shown if ord(sign) < 32 and sign != "\n"}
        assert "\u202e" not in shown
