"""`tfjob logs --previous` on the local cluster: after a restart in place, and in a new pod."""

import asyncio
import sys
from typing import Any

from tests.support.cluster_in_process import object_once
from tests.support.tfjobs import tfjob
from tfjob.local.cluster import LocalCluster

Json = dict[str, Any]
JOBS = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"
PODS = "/api/v1/namespaces/default/pods"
SCRIPT = (
    "[ -e was ] && { echo second; touch again; exec sleep 600; }; touch was; echo first; exit 137"
)


async def run_twice(cluster: LocalCluster, *, restart: str, restart_count: int) -> None:
    """A worker that is killed once and runs again, as often restarted in its pod as given."""
    job = tfjob("W1", restart=restart)
    (container,) = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    container["command"] = ["sh", "-c", SCRIPT]
    await cluster.api.create(JOBS, job, decode=dict)
    again = cluster.data.parent / "again"

    def runs_again(pods: Json) -> bool:
        known = [each["status"].get("containerStatuses") or () for each in pods["items"]]
        return again.exists() and any(
            "running" in status["state"] and status["restartCount"] == restart_count
            for each in known
            for status in each
        )

    await object_once(cluster, PODS, runs_again)


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
    local_cluster: LocalCluster,
) -> None:
    await run_twice(local_cluster, restart="OnFailure", restart_count=1)
    assert await previous_log(local_cluster) == "first\n"


async def test_pod_that_was_replaced_takes_its_log_with_it(
    local_cluster: LocalCluster,
) -> None:
    await run_twice(local_cluster, restart="ExitCode", restart_count=0)
    told = await previous_log(local_cluster)
    assert "(no log: " in told
    assert "first" not in told
