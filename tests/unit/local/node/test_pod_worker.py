"""The life of one pod on the node."""

from pathlib import Path

from tests.unit.local.node.fake_api import FakeApi, pod, until
from tests.unit.local.node.whole_node import finished, text_in
from tfjob.local.node.process import start_time_of


async def test_a_pod_is_running_before_it_succeeds(api: FakeApi, tmp_path: Path) -> None:
    api.create(pod("p", "until [ -e go ]; do sleep 0.01; done"))
    await until(lambda: api.phase("p") == "Running")
    assert api.container("p")["ready"] is True
    (tmp_path / "go").touch()
    assert await finished(api) == "Succeeded"


async def test_a_failing_container_fails_a_pod_that_is_never_restarted(api: FakeApi) -> None:
    api.create(pod("p", "exit 3", "exit 0"))
    assert await finished(api) == "Failed"
    assert (api.exit_code("p", 0), api.exit_code("p", 1)) == (3, 0)


async def test_a_deleted_pod_leaves_no_process_and_no_files(api: FakeApi, tmp_path: Path) -> None:
    one = pod("p", "sleep 60 & echo $! > pid; wait")
    api.create(one)
    await until(lambda: text_in(tmp_path / "pid"))
    child = int((tmp_path / "pid").read_text())
    api.delete("p")
    await until(lambda: api.phase("p") == "gone")
    assert start_time_of(child) is None
    assert not (tmp_path / "data" / "pods" / one["metadata"]["uid"]).exists()
    last = [status for name, status in api.statuses if name == "p"][-1]
    assert last["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143


async def test_a_second_deletion_can_shorten_the_grace_period(api: FakeApi, tmp_path: Path) -> None:
    api.create(pod("p", "trap '' TERM; touch ready; while :; do sleep 0.01; done"))
    await until((tmp_path / "ready").exists)
    api.delete("p", grace=3600)
    await until(lambda: "Killing" in api.reasons())
    api.delete("p", grace=0)
    await until(lambda: api.phase("p") == "gone")


async def test_a_pod_removed_by_force_is_killed(api: FakeApi, tmp_path: Path) -> None:
    api.create(pod("p", "trap '' TERM; echo $$$$ > pid; while :; do sleep 0.01; done"))
    await until(lambda: text_in(tmp_path / "pid"))
    process = int((tmp_path / "pid").read_text())
    api.remove("p")
    await until(lambda: start_time_of(process) is None)


async def test_a_container_without_a_command_is_rejected(api: FakeApi) -> None:
    api.create(pod("p", containers=[{"name": "c0", "image": "tensorflow:2"}]))
    assert await finished(api) == "Failed"
    status = api.pods["p"]["status"]
    assert status["reason"] == "NoCommand"
    assert "images do not run on this machine" in status["message"]
    assert "set `command`" in status["message"]
    assert api.waiting("p")[0] == "NoCommand"


async def test_a_pod_over_its_deadline_has_failed(api: FakeApi) -> None:
    api.create(pod("p", "sleep 60", activeDeadlineSeconds=1, terminationGracePeriodSeconds=5))
    assert await finished(api) == "Failed"
    assert api.pods["p"]["status"]["reason"] == "DeadlineExceeded"
    await until(lambda: api.exit_code("p") == 143)


async def test_fields_without_effect_are_named_once(api: FakeApi) -> None:
    one = pod("p", "true", nodeSelector={"gpu": "yes"})
    one["spec"]["containers"][0]["livenessProbe"] = {"exec": {}}
    api.create(one)
    await finished(api)
    messages = [message for _, reason, message in api.events if reason == "LeftOut"]
    assert messages == ["without effect on this machine: livenessProbe, spec.nodeSelector"]
