"""What another process needs to run a command in the environment of a container."""

from pathlib import Path

import pytest

from tests.unit.local.node.fake_api import FakeApi, pod, until
from tests.unit.local.node.whole_node import finished, node, settings
from tfjob.local.node import surroundings


def stored(folder: Path) -> list[Path]:
    return list(settings(folder).pods_folder.glob("**/surroundings.json"))


async def test_the_file_exists_while_the_container_runs(api: FakeApi, tmp_path: Path) -> None:
    one = pod("p", "until [ -e go ]; do sleep 0.01; done")
    one["spec"]["containers"][0]["env"] = [{"name": "COLOUR", "value": "blue"}]
    api.create(one)
    uid = one["metadata"]["uid"]
    await until(lambda: api.phase("p") == "Running")
    found = surroundings.load(settings(tmp_path).pods_folder, uid, "c0")
    assert found is not None
    assert found.env["COLOUR"] == "blue"
    (tmp_path / "go").touch()
    assert await finished(api) == "Succeeded"
    assert surroundings.load(settings(tmp_path).pods_folder, uid, "c0") is None
    assert stored(tmp_path) == []


@pytest.mark.parametrize("command", [["sh", "-c", "exit 3"], ["no-such-command"]])
async def test_the_file_is_removed_however_the_container_ends(
    api: FakeApi, tmp_path: Path, command: list[str]
) -> None:
    api.create(pod("p", containers=[{"name": "c0", "command": command}]))
    assert await finished(api) == "Failed"
    assert stored(tmp_path) == []


async def test_a_node_that_stops_removes_the_file(tmp_path: Path) -> None:
    api = FakeApi()
    async with node(api, tmp_path):
        api.create(pod("p", "sleep 60"))
        await until(lambda: api.phase("p") == "Running")
        assert len(stored(tmp_path)) == 1
    assert stored(tmp_path) == []
