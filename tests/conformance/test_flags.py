"""The operator's flags, as a Deployment or a user at a terminal gives them."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.controlplane.puppet import exits, runs
from tests.support.scene import Scene, scene_in

_SECONDS = 30


def operator(*flags: str) -> subprocess.CompletedProcess[str]:
    """An operator that is expected to end by itself."""
    return subprocess.run(
        [sys.executable, "-m", "tfjob.cli.main", "operator", *flags],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )


@pytest.mark.scenario(134)
@pytest.mark.parametrize("kind", ["TFJob", "tfjob"])
async def test_kind_of_jobs_is_accepted_in_any_case(scene: Scene, kind: str) -> None:
    scene.world.operator.kill()
    flags = (
        f"--enable-scheme={kind}",
        "--enable-scheme=PyTorchJob",
        f"--namespace={scene.namespace}",
    )
    other = scene.world.new_operator(*flags, name="schemes")
    other.start()
    await scene.submit("W1")
    await scene.children("j-worker-0")
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


def test_missing_gang_scheduler_ends_the_start_with_the_peers_words(scene: Scene) -> None:
    kubeconfig = f"--kubeconfig={scene.world.server.kubeconfig}"
    off = ("--metrics-bind-address=0", "--health-probe-bind-address=0")
    ended = operator(kubeconfig, *off, "--gang-scheduler-name=volcano")
    assert ended.returncode == 1
    assert "crd might be missing, please install crd" in ended.stderr


async def test_operator_of_one_namespace_leaves_the_others_alone(scene: Scene) -> None:
    scene.world.operator.kill()
    other = scene.world.new_operator(f"--namespace={scene.namespace}", name="one-namespace")
    other.start()
    async with scene_in(scene.world) as elsewhere:
        await elsewhere.submit("W1")
        await scene.submit("W1")
        await scene.children("j-worker-0")
        await scene.settled()
        assert "status" not in await elsewhere.job()
        await elsewhere.children()
        other.close()
        await asyncio.to_thread(scene.world.operator.start)
        await elsewhere.children("j-worker-0")


@pytest.mark.parametrize(("table", "ending"), [("v1.9", "Succeeded"), ("classic", "Failed")])
async def test_table_of_exit_codes_follows_the_flag(scene: Scene, table: str, ending: str) -> None:
    """139 is tried again by training-operator 1.9 and was final before."""
    scene.world.operator.kill()
    flags = (f"--exit-code-table={table}", f"--namespace={scene.namespace}")
    other = scene.world.new_operator(*flags, name=f"table-{table}")
    other.start()
    scene.puppet.play("*", runs, exits(139, 0))
    await scene.submit("W1", restart="ExitCode")
    await scene.comes_to(ending)
    other.close()


async def test_default_of_clean_up_follows_the_flag(scene: Scene) -> None:
    scene.world.operator.kill()
    flags = ("--default-clean-pod-policy=All", f"--namespace={scene.namespace}")
    other = scene.world.new_operator(*flags, name="clean-up")
    other.start()
    scene.puppet.play("*", runs, exits(0))
    await scene.submit("W1")
    await scene.comes_to("Succeeded")
    await scene.children()
    other.close()


async def test_cap_on_requests_is_kept_and_the_job_still_runs(scene: Scene) -> None:
    scene.world.operator.kill()
    flags = ("--kube-api-qps=20", "--kube-api-burst=5", "--controller-threads=1")
    other = scene.world.new_operator(*flags, f"--namespace={scene.namespace}", name="capped")
    other.start()
    scene.puppet.play("*", runs)
    await scene.submit("W3")
    await scene.reaches("Created", "Running")
    other.close()
