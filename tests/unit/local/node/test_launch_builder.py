"""Container specs become processes of this machine."""

import sys
from pathlib import Path

from tests.unit.local.node.fake_api import FakeApi, pod, until
from tests.unit.local.node.whole_node import finished, gone, log_of, node


async def test_a_container_waits_for_a_missing_config_map(api: FakeApi, tmp_path: Path) -> None:
    one = pod("p", "echo $GREETING")
    reference = {"configMapKeyRef": {"name": "cfg", "key": "word"}}
    one["spec"]["containers"][0]["env"] = [{"name": "GREETING", "valueFrom": reference}]
    api.create(one)
    await until(
        lambda: api.waiting("p") == ("CreateContainerConfigError", 'configmap "cfg" not found')
    )
    api.config_maps["ns/cfg"] = {"data": {"word": "hello"}}
    assert await finished(api) == "Succeeded"
    assert log_of(tmp_path, one) == "hello"
    assert api.container("p")["restartCount"] == 0


async def test_volumes_are_reached_by_their_mount_paths(api: FakeApi, tmp_path: Path) -> None:
    api.claims["ns/data"] = {}
    api.secrets["ns/sec"] = {"data": {"key": "Z2VoZWlt"}}
    one = pod(
        "p",
        "cat /etc/secret/key > /data/out; cp /data/out $SCRATCH/copy; pwd",
        volumes=[
            {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "s", "secret": {"secretName": "sec"}},
            {"name": "e", "emptyDir": {}},
        ],
    )
    one["spec"]["containers"][0] |= {
        "env": [{"name": "SCRATCH", "value": "/scratch"}],
        "workingDir": "/data",
        "volumeMounts": [
            {"name": "d", "mountPath": "/data"},
            {"name": "s", "mountPath": "/etc/secret"},
            {"name": "e", "mountPath": "/scratch"},
        ],
    }
    api.create(one)
    assert await finished(api) == "Succeeded", log_of(tmp_path, one)
    folder = tmp_path / "data" / "volumes" / "ns" / "data"
    assert (folder / "out").read_text() == "geheim"
    assert log_of(tmp_path, one) == str(folder)
    api.delete("p")
    await until(lambda: api.phase("p") == "gone")
    assert (folder / "out").exists()


async def test_peers_agree_on_ports_whoever_starts_first(api: FakeApi, tmp_path: Path) -> None:
    config = '{"cluster":{"worker":["w-0.ns.svc:2222","w-1.ns.svc:2222"]}}'
    for name in ("w-0", "w-1"):
        one = pod(name, f"echo $TF_CONFIG > {name}.out")
        one["spec"]["containers"][0] |= {
            "env": [{"name": "TF_CONFIG", "value": config}],
            "ports": [{"containerPort": 2222}],
        }
        api.create(one)
    assert (await finished(api, "w-0"), await finished(api, "w-1")) == ("Succeeded", "Succeeded")
    first, second = (tmp_path / "w-0.out").read_text(), (tmp_path / "w-1.out").read_text()
    assert first == second
    assert first.count("127.0.0.1:") == 2
    assert "svc" not in first
    assert api.pods["w-0"]["spec"]["containers"][0]["env"][0]["value"] == config


async def test_this_python_comes_first_and_the_pod_knows_its_name(
    api: FakeApi, tmp_path: Path
) -> None:
    one = pod("p", "python -c 'import sys; print(sys.prefix)'; echo $HOSTNAME")
    one["spec"]["containers"][0]["env"] = [{"name": "PATH", "value": "/usr/bin:/bin"}]
    api.create(one)
    assert await finished(api) == "Succeeded"
    assert log_of(tmp_path, one).split() == [sys.prefix, "p"]


async def test_the_termination_message_comes_from_its_file_or_the_log(api: FakeApi) -> None:
    one = pod("p", "echo because > /dev/termination-log; exit 1", "echo from the log; exit 1")
    one["spec"]["containers"][1]["terminationMessagePolicy"] = "FallbackToLogsOnError"
    api.create(one)
    assert await finished(api) == "Failed"
    assert api.container("p", 0)["state"]["terminated"]["message"] == "because\n"
    assert api.container("p", 1)["state"]["terminated"]["message"] == "from the log\n"


async def test_an_unwritable_log_folder_is_reported_and_other_pods_continue(
    api: FakeApi, tmp_path: Path
) -> None:
    blocked = pod("blocked", "true")
    folder = tmp_path / "data" / "pods" / blocked["metadata"]["uid"]
    folder.mkdir()
    (folder / "containers").write_text("a file where a folder should be")
    api.create(blocked)
    await until(lambda: api.waiting("blocked")[0] == "CreateContainerError")
    assert "this machine refused" in api.waiting("blocked")[1]
    api.create(pod("p", "true"))
    assert await finished(api) == "Succeeded"
    (folder / "containers").unlink()
    assert await finished(api, "blocked") == "Succeeded"


async def test_ports_of_deleted_pods_are_reused(tmp_path: Path) -> None:
    api = FakeApi()
    async with node(api, tmp_path) as agent:
        agent._context.launches._ports._ports = range(29990, 29992)
        for number in range(5):
            one = pod(f"p{number}", "true")
            one["spec"]["containers"][0]["ports"] = [{"containerPort": 65000}]
            api.create(one)
            assert await finished(api, f"p{number}") == "Succeeded"
            api.delete(f"p{number}")
            await gone(api, f"p{number}")
        assert any("no free port is left" in message for _, _, message in api.events)


async def test_a_script_in_a_config_map_is_run_from_its_mount(api: FakeApi, tmp_path: Path) -> None:
    script = "import sys; print(sys.argv[1:], __file__.endswith('serve.py'))"
    api.config_maps["ns/cm-ps"] = {"data": {"serve.py": script}}
    one = pod("p", "true", volumes=[{"name": "v", "configMap": {"name": "cm-ps"}}])
    words = ["python", "/ps-server/serve.py", "--cluster_spec", "ps|a:1;b:2", "--task_id", "0"]
    mount = {"name": "v", "mountPath": "/ps-server"}
    one["spec"]["containers"][0] |= {"command": words, "volumeMounts": [mount]}
    api.create(one)
    assert await finished(api) == "Succeeded", log_of(tmp_path, one)
    assert log_of(tmp_path, one) == f"{words[2:]} True"


async def test_the_replacement_of_a_failed_pod_gets_its_port(api: FakeApi, tmp_path: Path) -> None:
    spec = {"selector": {"task": "0"}, "clusterIP": "None", "ports": [{"port": 2222}]}
    api.service_list = [{"metadata": {"namespace": "ns", "name": "ps-0"}, "spec": spec}]
    for name, end in (("ps-0-a", "1"), ("ps-0-b", "0")):
        one = pod(name, f"echo $PEERS > {name}.out; exit {end}")
        one["metadata"]["labels"] = {"task": "0"}
        one["spec"]["containers"][0]["env"] = [{"name": "PEERS", "value": "ps|ps-0:2222"}]
        api.create(one)
        await finished(api, name)
    first, second = ((tmp_path / f"ps-0-{tail}.out").read_text() for tail in "ab")
    assert first == second
    assert first.startswith("ps|127.0.0.1:")
