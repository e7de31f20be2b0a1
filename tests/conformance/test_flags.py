"""The operator's flags, as a Deployment or a user at a terminal gives them."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fake_kubelet.driver import exits, runs
from tests.support.job_fixture import JobFixture, job_fixture_in
from tests.support.patience import PATIENCE


def operator(*flags: str) -> subprocess.CompletedProcess[str]:
    """An operator that is expected to end by itself."""
    return subprocess.run(
        [sys.executable, "-m", "tfjob.cli.main", "operator", *flags],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.scenario(134)
@pytest.mark.parametrize("kind", ["TFJob", "tfjob"])
async def test_kind_of_jobs_is_accepted_in_any_case(fixture: JobFixture, kind: str) -> None:
    fixture.env.operator.kill()
    flags = (
        f"--enable-scheme={kind}",
        "--enable-scheme=PyTorchJob",
        f"--namespace={fixture.namespace}",
    )
    other = fixture.env.new_operator(*flags, name="schemes")
    other.start()
    await fixture.submit("W1")
    await fixture.children("j-worker-0")
    other.close()


@pytest.mark.scenario(134)
def test_unknown_kind_ends_the_start_with_a_sentence() -> None:
    ended = operator("--enable-scheme=nosuch")
    assert ended.returncode != 0
    assert "scheme nosuch is not supported yet" in ended.stderr


def test_kubeconfig_that_is_not_there_ends_the_start_with_a_sentence(tmp_path: Path) -> None:
    ended = operator(f"--kubeconfig={tmp_path / 'none'}")
    assert ended.returncode != 0
    assert str(tmp_path / "none") in ended.stderr
    assert "Traceback" not in ended.stderr


def test_missing_gang_scheduler_ends_the_start_with_the_peers_words(fixture: JobFixture) -> None:
    kubeconfig = f"--kubeconfig={fixture.env.server.kubeconfig}"
    off = ("--metrics-bind-address=0", "--health-probe-bind-address=0")
    ended = operator(kubeconfig, *off, "--gang-scheduler-name=volcano")
    assert ended.returncode == 1
    assert "crd might be missing, please install crd" in ended.stderr


async def test_operator_of_one_namespace_leaves_the_others_alone(fixture: JobFixture) -> None:
    fixture.env.operator.kill()
    other = fixture.env.new_operator(f"--namespace={fixture.namespace}", name="one-namespace")
    other.start()
    async with job_fixture_in(fixture.env) as elsewhere:
        await elsewhere.submit("W1")
        await fixture.submit("W1")
        await fixture.children("j-worker-0")
        await fixture.settled()
        assert "status" not in await elsewhere.job()
        await elsewhere.children()
        other.close()
        await asyncio.to_thread(fixture.env.operator.start)
        await elsewhere.children("j-worker-0")


@pytest.mark.parametrize(("table", "ending"), [("v1.9", "Succeeded"), ("classic", "Failed")])
async def test_table_of_exit_codes_follows_the_flag(
    fixture: JobFixture, table: str, ending: str
) -> None:
    """139 is tried again by training-operator 1.9 and was final before."""
    fixture.env.operator.kill()
    flags = (f"--exit-code-table={table}", f"--namespace={fixture.namespace}")
    other = fixture.env.new_operator(*flags, name=f"table-{table}")
    other.start()
    fixture.kubelet.script("*", runs, exits(139, 0))
    await fixture.submit("W1", restart="ExitCode")
    await fixture.comes_to(ending)
    other.close()


async def test_default_of_clean_up_follows_the_flag(fixture: JobFixture) -> None:
    fixture.env.operator.kill()
    flags = ("--default-clean-pod-policy=All", f"--namespace={fixture.namespace}")
    other = fixture.env.new_operator(*flags, name="clean-up")
    other.start()
    fixture.kubelet.script("*", runs, exits(0))
    await fixture.submit("W1")
    await fixture.comes_to("Succeeded")
    await fixture.children()
    other.close()


async def test_cap_on_requests_is_kept_and_the_job_still_runs(fixture: JobFixture) -> None:
    fixture.env.operator.kill()
    flags = ("--kube-api-qps=20", "--kube-api-burst=5", "--controller-threads=1")
    other = fixture.env.new_operator(*flags, f"--namespace={fixture.namespace}", name="capped")
    other.start()
    fixture.kubelet.script("*", runs)
    await fixture.submit("W3")
    await fixture.reaches("Created", "Running")
    other.close()
