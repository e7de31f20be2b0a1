"""`tfjob logs --previous` on the local cluster: after a restart in place, and in a new pod."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from tests.support.tfjobs import tfjob
from tfjob.local.cluster import LocalCluster

Json = dict[str, Any]
JOBS = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"
PODS = "/api/v1/namespaces/default/pods"
SCRIPT = (
    "[ -e was ] && { echo second; touch again; exec sleep 600; }; touch was; echo first; exit 137"
)


async def run_twice(
    cluster: LocalCluster, folder: Path, *, restart: str, restart_count: int
) -> None:
    """A worker that is killed once and runs again, as often restarted in its pod as given.

    The API shows that a moment after it is so; the test's own time limit ends the wait.
    """
    job = tfjob("W1", restart=restart)
    (container,) = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    container["command"] = ["sh", "-c", SCRIPT]
    await cluster.api.create(JOBS, job, decode=dict)
    while True:
        if (folder / "again").exists():
            pods: Json = await cluster.api.get(PODS, decode=dict)
            known = [each["status"].get("containerStatuses") or () for each in pods["items"]]
            for status in [one for each in known for one in each]:
                if "running" in status["state"] and status["restartCount"] == restart_count:
                    return
        await asyncio.sleep(0.02)


async def previous_log(cluster: LocalCluster) -> str:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tfjob.cli.main", "logs", "j", "--previous"),
        f"--kubeconfig={cluster.kubeconfig}",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return output.decode()


async def test_previous_log_is_that_before_the_restart_in_the_same_pod(
    local_cluster: LocalCluster, tmp_path: Path
) -> None:
    await run_twice(local_cluster, tmp_path, restart="OnFailure", restart_count=1)
    assert await previous_log(local_cluster) == "first\n"


async def test_pod_that_was_replaced_takes_its_log_with_it(
    local_cluster: LocalCluster, tmp_path: Path
) -> None:
    await run_twice(local_cluster, tmp_path, restart="ExitCode", restart_count=0)
    told = await previous_log(local_cluster)
    assert "(no log: " in told
    assert "first" not in told
