"""The job that `helm test` runs, on a real API server, with the rights that its pod would have."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
import yaml

from tests.support.environments import Environment
from tests.support.fake_kubelet.driver import FakeKubelet, exits, runs
from tests.support.fake_kubelet.pod_status import Pod
from tests.support.helm import (
    EVERY_DIALECT,
    ChartPlane,
    Helm,
    operator_of,
)
from tests.support.job_fixture import job_fixture_in

pytestmark = pytest.mark.timeout(func_only=True)
TRIAL = "tfjob-tfjob-test"


@pytest.fixture(autouse=True)
async def _operator(
    plane: ChartPlane, helm: Helm, home: str, chart_env: Environment
) -> AsyncIterator[None]:
    """The release with every dialect, and its operator."""
    await asyncio.to_thread(helm.install, EVERY_DIALECT, namespace=home)
    operator = operator_of(chart_env, plane, namespace=home)
    await asyncio.to_thread(operator.start)
    yield
    operator.close()


async def test_trial_job_lives_from_its_creation_to_its_end(
    plane: ChartPlane, helm: Helm, home: str, chart_env: Environment
) -> None:
    """The program of the trial, with the account and the rights that its pod would have."""
    async with job_fixture_in(chart_env) as fixture:
        fixture.kubelet.script("master-*", runs, exits(0))
        fixture.kubelet.script("*", runs)
        command, kubeconfig = await asyncio.to_thread(_trial, plane, helm, home, fixture.namespace)
        told = await asyncio.to_thread(_run, command, kubeconfig, seconds=240)
    assert told.startswith("1..1\nok 1 - e2e-test-job-")


async def test_trial_fails_if_a_pod_of_it_does_not_run(
    plane: ChartPlane, helm: Helm, home: str, chart_env: Environment
) -> None:
    async with job_fixture_in(chart_env) as fixture:
        fixture.kubelet.script("ps-*", _never_starts)
        fixture.kubelet.script("master-*", runs, exits(0))
        fixture.kubelet.script("*", runs)
        command, kubeconfig = await asyncio.to_thread(_trial, plane, helm, home, fixture.namespace)
        command.insert(3, "--timeout=20")
        told = await asyncio.to_thread(_run, command, kubeconfig, seconds=240, fails=True)
    assert "not ok 1 - e2e-test-job-" in told
    assert "timed out waiting for: a pod of" in told
    assert "/jobs/ps-" in told


async def test_pods_of_the_trial_are_admitted_where_pod_security_is_strictest(
    plane: ChartPlane, helm: Helm, home: str
) -> None:
    """The namespace of the release enforces `restricted`, and the trial's job runs in it."""
    async with FakeKubelet(plane.endpoint, namespace=home) as kubelet:
        kubelet.script("master-*", runs, exits(0))
        kubelet.script("*", runs)
        command, kubeconfig = await asyncio.to_thread(_trial, plane, helm, home, home)
        told = await asyncio.to_thread(_run, command, kubeconfig, seconds=240)
    assert "ok 1 - e2e-test-job-" in told


async def _never_starts(kubelet: FakeKubelet, pod: Pod) -> None:
    """Leave the pod without a status, as when it is refused or its image is missing."""


def _trial(plane: ChartPlane, helm: Helm, home: str, namespace: str) -> tuple[list[str], str]:
    """The command of the trial's pod, for jobs in a namespace, and its account's kubeconfig."""
    kubeconfig = _account_of(plane, home, namespace)
    hooks = yaml.safe_load_all(helm("get", "hooks", "tfjob", "--namespace", home))
    [pod] = [each for each in hooks if each and each["metadata"]["name"] == TRIAL]
    _, *words = pod["spec"]["containers"][0]["command"]
    place = words.index(f"--namespace={home}")
    words[place : place + 1] = [f"--namespace={namespace}", "--poll=0.2"]
    return [sys.executable, *words], kubeconfig


def _account_of(plane: ChartPlane, home: str, namespace: str) -> str:
    """The trial's account, with the rights that the release gives it, in another namespace."""
    name, group = TRIAL, "/apis/rbac.authorization.k8s.io/v1/namespaces"
    role = plane.endpoint.request("GET", f"{group}/{home}/roles/{name}")
    binding = plane.endpoint.request("GET", f"{group}/{home}/rolebindings/{name}")
    for kind, found in () if namespace == home else (("roles", role), ("rolebindings", binding)):
        found["metadata"] = {"name": name}
        plane.endpoint.request("POST", f"{group}/{namespace}/{kind}", found)
    return str(plane.kubeconfig_for(name, namespace=home))


def _run(command: list[str], kubeconfig: str, *, seconds: float = 60, fails: bool = False) -> str:
    done = subprocess.run(
        command,
        env={**os.environ, "KUBECONFIG": kubeconfig},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout
