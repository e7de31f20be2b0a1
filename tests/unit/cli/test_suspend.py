from pathlib import Path
from typing import Any

import pytest

from tests.support.local_apiserver.serving import JOBS, ThreadedApiServer, api_server_in_thread
from tests.support.other_jobs import old_job, training_job
from tests.support.tfjobs import tfjob
from tfjob.cli.main import main

OLD_JOBS = "/apis/tensorflow.org/v1alpha1/namespaces/default/tfjobs"
T9K_JOBS = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/tensorflowtrainingjobs"


def spec_of(cluster: ThreadedApiServer, path: str) -> dict[str, Any]:
    spec: dict[str, Any] = cluster.endpoint.request("GET", path)["spec"]
    return spec


def test_jobs_are_suspended_and_resumed_by_the_field_of_their_api(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        cluster.put_job(tfjob("W1", name="a"))
        cluster.endpoint.request("POST", T9K_JOBS, training_job(name="b"))
        assert main(["suspend", "a", "b", *cluster.flags]) == 0
        assert spec_of(cluster, f"{JOBS}/a")["runPolicy"]["suspend"] is True
        assert spec_of(cluster, f"{T9K_JOBS}/b")["runMode"]["pause"]["enabled"] is True
        assert main(["suspend", "a", *cluster.flags]) == 0
        assert main(["resume", "a", "b", *cluster.flags]) == 0
        assert spec_of(cluster, f"{JOBS}/a")["runPolicy"]["suspend"] is False
        assert spec_of(cluster, f"{T9K_JOBS}/b")["runMode"]["pause"]["enabled"] is False
        assert main(["resume", "a", *cluster.flags]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "TFJob default/a suspended",
        "TensorFlowTrainingJob default/b suspended",
        "TFJob default/a already suspended",
        "TFJob default/a resumed",
        "TensorFlowTrainingJob default/b resumed",
        "TFJob default/a not suspended",
    ]


def test_a_job_whose_api_cannot_suspend_it_and_a_finished_one_are_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        cluster.endpoint.request("POST", OLD_JOBS, old_job(name="old"))
        cluster.put_job(tfjob("W1", name="over"), ("Succeeded", "done"))
        assert main(["suspend", "old", *cluster.flags]) == 1
        assert main(["suspend", "over", *cluster.flags]) == 1
        assert "suspend" not in spec_of(cluster, f"{JOBS}/over").get("runPolicy", {})
    old, over = capsys.readouterr().err.splitlines()
    assert "tensorflow.org/v1alpha1 jobs cannot be suspended" in old
    assert over == "error: TFJob default/over has finished: Succeeded"
