"""Many jobs at once on one machine."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.local_world import WHOLE, LocalWorld
from tests.support.siege import assert_nothing_is_left

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


@pytest.mark.timeout(150, func_only=True)
def test_fifty_jobs_at_once_go_through_one_local_cluster(tmp_path: Path) -> None:
    with LocalWorld(tmp_path, workdir=tmp_path, parts=WHOLE) as world:
        for number in range(JOBS):
            world.call("POST", PATH, job(f"j{number}"))

        def are_done() -> bool:
            found = world.call("GET", PATH)["items"]
            return all(each.get("status", {}).get("completionTime") for each in found)

        world.until("every job has ended", are_done, seconds=120)
        for each in world.call("GET", PATH)["items"]:
            last = each["status"]["conditions"][-1]
            assert (last["type"], last["status"]) == ("Succeeded", "True")
        log = world.call("GET", "/api/v1/namespaces/default/pods/j49-worker-0/log")
        assert log == "j49-worker-0\n"
        world.end()
        assert_nothing_is_left(world)
