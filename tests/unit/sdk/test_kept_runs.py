"""Which runs are kept, and how one is found."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tfjob.local.node.process import ProcessIdentity
from tfjob.sdk import kept_runs
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.kept_runs import find_run, prune, running_run
from tfjob.sdk.run_folder import RunFolder

NOW = datetime(2026, 11, 17, 2, 50, 51, tzinfo=UTC)


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return kept_runs.runs_folder()


def run(parent: Path, job: str, *, minute: int, is_over: bool = True) -> RunFolder:
    now = NOW + timedelta(minutes=minute)
    cluster = parent.parent / f"cluster-{job}"
    cluster.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = RunFolder.create(
        parent, job=job, file="job.yaml", now=now, kubeconfig=cluster / "kubeconfig"
    )
    if is_over:
        made.finish("succeeded", now=now)
    return made


def test_a_run_is_found_by_its_name_its_job_or_its_folder(parent: Path) -> None:
    first, other = run(parent, "mnist", minute=0), run(parent, "mnist", minute=1)
    newest = run(parent, "hello", minute=2)
    assert find_run("").path == newest.path
    assert find_run("mnist").path == other.path
    assert find_run(first.path.name).path == first.path
    assert find_run(str(first.path)).path == first.path


def test_a_name_is_not_taken_for_a_folder(
    parent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = run(parent, "mnist", minute=0)
    monkeypatch.chdir(tmp_path)
    copy = shutil.copytree(run(parent, "other", minute=1).path, tmp_path / "mnist")
    assert find_run("mnist").path == own.path
    assert find_run("./mnist").path.samefile(copy)


def test_a_folder_that_is_no_run_is_said_so(parent: Path, tmp_path: Path) -> None:
    run(parent, "mnist", minute=0)
    with pytest.raises(TFJobError, match="mnist is not the folder of a run: it has no readable"):
        find_run(str(tmp_path / "mnist"))


def test_a_run_that_is_not_kept_is_said_so(parent: Path) -> None:
    with pytest.raises(TFJobError, match="no run is kept"):
        find_run("")
    run(parent, "mnist", minute=0)
    with pytest.raises(TFJobError, match="no run 'other' is kept; `tfjob runs` lists"):
        find_run("other")


def test_the_oldest_runs_are_removed_except_those_that_go_on(parent: Path) -> None:
    goes_on = run(parent, "long", minute=0, is_over=False)
    runs = [run(parent, "mnist", minute=minute) for minute in range(1, 6)]
    prune(parent, keep=2)
    left = {each.path for each in kept_runs.kept_runs()}
    assert left == {goes_on.path, runs[-1].path, runs[-2].path}


def test_the_newest_run_that_goes_on_is_the_current_one(parent: Path) -> None:
    run(parent, "over", minute=9)
    assert running_run() is None
    for minute, job in enumerate(("a", "b")):
        run(parent, job, minute=minute, is_over=False)
    found = running_run()
    assert found is not None
    assert found.record.job == "b"
    of_job = running_run("a")
    assert of_job is not None
    assert of_job.record.job == "a"
    assert running_run("over") is None


def test_a_cluster_that_is_kept_after_its_job_is_found(
    parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = run(parent, "mnist", minute=0, is_over=False)
    made.finish("failed", now=NOW, keeps_cluster=True)
    found = running_run()
    assert found is not None
    assert (found.path, found.state) == (made.path, "failed, cluster up")
    prune(parent, keep=0)
    monkeypatch.setattr(ProcessIdentity, "is_alive", lambda _: False)
    assert running_run() is None
    assert find_run("mnist").state == "failed"


@pytest.mark.parametrize("place", ["runs", "run", "cluster"])
def test_a_run_that_others_may_have_written_is_never_the_current_one(
    parent: Path, place: str
) -> None:
    made = run(parent, "mnist", minute=0, is_over=False)
    folders = {"runs": parent, "run": made.path, "cluster": parent.parent / "cluster-mnist"}
    folders[place].chmod(0o777)
    assert running_run() is None
    folders[place].chmod(0o700)
    assert running_run() is not None


def test_a_folder_that_is_no_run_is_left_alone(parent: Path) -> None:
    run(parent, "mnist", minute=0)
    (parent / "other").mkdir()
    (parent / "other" / "run.json").write_text("no record")
    prune(parent, keep=0)
    assert [each.name for each in parent.iterdir()] == ["other"]


def test_replicas_are_in_the_order_of_their_numbers(parent: Path) -> None:
    made = run(parent, "mnist", minute=0, is_over=False)
    for name in ("worker-10", "worker-2", "chief-0"):
        made.log(name, "a line")
    made.flush()
    assert find_run("").replicas() == ["chief-0", "worker-2", "worker-10"]
