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


def test_jobs_are_deleted_by_label_or_all_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        for name, team in (("a", "red"), ("b", "blue"), ("c", "red")):
            job = tfjob("W1", name=name)
            job["metadata"]["labels"] = {"team": team}
            cluster.put_job(job)
        assert main(["get", "-l", "team=red", "-o", "name", *cluster.flags]) == 0
        assert main(["delete", "-l", "team=red", *cluster.flags]) == 0
        assert cluster.job_names() == ["b"]
        assert main(["delete", "--all", *cluster.flags]) == 0
        assert cluster.job_names() == []
    assert capsys.readouterr().out.splitlines() == [
        "tfjobs.kubeflow.org/a",
        "tfjobs.kubeflow.org/c",
        "TFJob default/a deleted",
        "TFJob default/c deleted",
        "TFJob default/b deleted",
    ]


@pytest.mark.parametrize("words", [[], ["a", "--all"], ["a", "-l", "x=y"], ["--all", "-l", "x=y"]])
def test_jobs_to_delete_are_chosen_in_exactly_one_way(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["delete", *words]) == 2
    assert "choose jobs by their names, by `-l LABELS`, or by `--all`" in capsys.readouterr().err
