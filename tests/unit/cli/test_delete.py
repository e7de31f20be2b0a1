from pathlib import Path

import pytest

from tests.support.local_apiserver.serving import api_server_in_thread
from tests.support.tfjobs import tfjob
from tfjob.cli.main import main


def test_named_jobs_are_deleted_and_others_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        for name in ("a", "b", "c"):
            cluster.put_job(tfjob("W1", name=name))
        assert main(["delete", "a", "c", *cluster.flags]) == 0
        assert cluster.job_names() == ["b"]
        assert main(["delete", "a", *cluster.flags]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines() == ["TFJob default/a deleted", "TFJob default/c deleted"]
    assert "no job 'a'" in err
