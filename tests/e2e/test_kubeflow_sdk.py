"""The real Kubeflow SDK, unchanged, with the operator behind it."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.fake_kubelet.driver import exits, runs
from tests.support.job_fixture import JobFixture

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-sdk" / "bin" / "python"
SESSION = Path(__file__).parent / "sdk_session.py"


async def session(fixture: JobFixture) -> str:
    """The output of one program that uses the SDK, while pods run and end."""
    process = await asyncio.create_subprocess_exec(
        PYTHON,
        SESSION,
        str(fixture.env.server.kubeconfig),
        fixture.namespace,
        "example.invalid/tensorflow",
        "true",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return output.decode()


@pytest.mark.timeout(180, func_only=True)
async def test_sdk_creates_waits_for_reads_and_deletes_jobs(fixture: JobFixture) -> None:
    assert PYTHON.exists(), f"NO KUBEFLOW SDK at {PYTHON}: `make e2e-local` installs it"
    fixture.kubelet.script("written-chief-0", runs)
    fixture.kubelet.script("made-ps-0", runs)
    fixture.kubelet.script("*", runs, exits(0))
    running = asyncio.create_task(session(fixture))
    try:
        await fixture.kubelet.until(
            "the workers have ended",
            lambda pods: (
                [pods[name]["status"]["phase"] for name in sorted(pods) if "n-worker" in name]
                == ["Succeeded", "Succeeded"]
            ),
            seconds=60,
        )
        await fixture.kubelet.finish(await fixture.kubelet.run("written-chief-0"), exit_code=0)
    finally:
        output = await running
    is_as_expected(output)
    await fixture.children()


def is_as_expected(output: str) -> None:
    """What the session saw is what the SDK promises."""
    seen = json.loads(output.splitlines()[-1])
    assert seen["jobs"] == ["made", "written"]
    assert seen["pods"] == ["written-chief-0", "written-worker-0", "written-worker-1"]
    assert seen["masters"] == ["written-chief-0"]
    assert seen["second worker"] == ["written-worker-1"]
    assert seen["conditions"] == {
        "Created": ["True", "TFJobCreated"],
        "Running": ["False", "TFJobRunning"],
        "Succeeded": ["True", "TFJobSucceeded"],
    }
    assert seen["is"] == {
        "created": True,
        "running": False,
        "restarting": False,
        "succeeded": True,
        "failed": False,
    }
    assert seen["replica statuses"] == {"Chief": 1, "Worker": 2}
    assert seen["was called back"] == ["made", "written"]
    assert seen["left"] == []
