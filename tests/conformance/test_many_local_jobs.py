"""Many jobs at once on one machine."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.chaos import assert_nothing_is_left
from tests.support.local_cluster import WHOLE, LocalCluster

Json = dict[str, Any]
JOBS = 50
PATH = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"


def job(name: str) -> Json:
    container = {"name": "tensorflow", "image": "x", "command": ["sh", "-c", "echo $HOSTNAME"]}
    worker = {"restartPolicy": "Never", "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {"tfReplicaSpecs": {"Worker": worker}},
    }


@pytest.mark.timeout(func_only=True)
def test_fifty_jobs_at_once_go_through_one_local_cluster(tmp_path: Path) -> None:
    with LocalCluster(tmp_path, workdir=tmp_path, parts=WHOLE) as cluster:
        for number in range(JOBS):
            cluster.call("POST", PATH, job(f"j{number}"))

        def are_done() -> bool:
            found = cluster.call("GET", PATH)["items"]
            return all(each.get("status", {}).get("completionTime") for each in found)

        cluster.until("every job has ended", are_done)
        for each in cluster.call("GET", PATH)["items"]:
            last = each["status"]["conditions"][-1]
            assert (last["type"], last["status"]) == ("Succeeded", "True")
        log = cluster.call("GET", "/api/v1/namespaces/default/pods/j49-worker-0/log")
        assert log == "j49-worker-0\n"
        cluster.end()
        assert_nothing_is_left(cluster)
