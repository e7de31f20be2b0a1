"""When a job gets default parameter servers, and what they run."""

import ast
from typing import Any

from tests.unit.dialects.tensorflow.jobs import (
    Json,
    built,
    defaults_of,
    entry,
    set_up,
    template,
    tfjob,
    training,
)
from tfjob.dialects.tensorflow import default_parameter_server

MOUNT = {"name": "ps-config-volume", "mountPath": "/ps-server"}
VOLUME = {"name": "ps-config-volume", "configMap": {"name": "cm-ps-76no"}}


def server(found: dict[tuple[str, str], Json]) -> Any:
    return found["Job", "ps-76no-0"]["spec"]["template"]["spec"]


def test_program_comes_with_the_package_and_can_be_read() -> None:
    assert "def main(" in default_parameter_server.SOURCE
    ast.parse(default_parameter_server.SOURCE)


def test_program_is_in_the_config_map_and_mounted() -> None:
    found = built(tfjob(entry(), {"tfReplicaType": "PS"}))
    config = found["ConfigMap", "cm-ps-76no"]
    assert config["data"] == {"grpc_tensorflow_server.py": default_parameter_server.SOURCE}
    assert config["metadata"]["labels"] == {
        "tensorflow.org": "",
        "runtime_id": "76no",
        "tf_job_name": "j",
    }
    assert server(found)["volumes"] == [VOLUME]
    assert training(found["Job", "ps-76no-0"])["volumeMounts"] == [MOUNT]


def test_admin_s_own_program_is_used() -> None:
    found = built(tfjob(entry(), {"tfReplicaType": "PS"}), set_up(server_source="print()"))
    assert found["ConfigMap", "cm-ps-76no"]["data"] == {"grpc_tensorflow_server.py": "print()"}


def test_template_without_the_container_gets_it_and_is_kept() -> None:
    given = template(
        "side", nodeSelector={"a": "b"}, volumes=[{"name": "v"}], restartPolicy="Never"
    )
    found = built(tfjob(entry(), entry("PS", template=given)))
    pod = server(found)
    assert [each["name"] for each in pod["containers"]] == ["side", "tensorflow"]
    assert (pod["nodeSelector"], pod["restartPolicy"]) == ({"a": "b"}, "Never")
    assert pod["volumes"] == [{"name": "v"}, VOLUME]


def test_user_s_own_server_is_left_alone() -> None:
    given = tfjob(entry(), entry("PS"))
    found = built(given)
    assert ("ConfigMap", "cm-ps-76no") not in found
    assert "command" not in training(found["Job", "ps-76no-0"])
    assert "volumes" not in server(found)
    assert defaults_of(given)[1] == {"IsDefaultPS": False, "tfReplicaType": "PS"}


def test_own_command_makes_it_the_user_s_server() -> None:
    given = template()
    given["spec"]["containers"][0] |= {"command": ["mine"], "volumeMounts": [MOUNT]}
    found = built(tfjob(entry(), entry("PS", template=given)))
    assert training(found["Job", "ps-76no-0"])["command"] == ["mine"]


def test_volume_of_that_name_stays_the_user_s() -> None:
    volumes = [{"name": "ps-config-volume", "emptyDir": {}}]
    found = built(tfjob(entry(), entry("PS", template=template("side", volumes=volumes))))
    assert server(found)["volumes"] == volumes


def test_types_without_replicas_are_not_passed_to_the_server() -> None:
    found = built(tfjob(entry(), entry("WORKER", 0), {"tfReplicaType": "PS"}))
    command = training(found["Job", "ps-76no-0"])["command"]
    assert command[3] == "master|master-76no-0:2222,ps|ps-76no-0:2222"


def test_workers_are_never_supplied_whatever_they_mount() -> None:
    given = template()
    given["spec"]["containers"][0]["volumeMounts"] = [MOUNT]
    found = built(tfjob(entry(), entry("WORKER", template=given)))
    assert not [name for kind, name in found if kind == "ConfigMap"]
