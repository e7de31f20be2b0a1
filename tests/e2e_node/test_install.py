"""The chart, as an administrator uses it in a namespace with the strictest Pod Security."""

import json
import re

import pytest

from tests.support.node.client import HOME, Cluster, Json


def operator_pod(cluster: Cluster) -> Json:
    query = "labelSelector=control-plane%3Dkubeflow-training-operator"
    [pod] = cluster.get(f"/api/v1/namespaces/{HOME}/pods?{query}")["items"]
    found: Json = pod
    return found


def test_operator_runs_without_root_and_without_writing_to_a_disk(cluster: Cluster) -> None:
    pod = operator_pod(cluster)
    [container] = pod["spec"]["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert pod["status"]["containerStatuses"][0]["ready"]
    name = pod["metadata"]["name"]
    assert cluster.kubectl("exec", "-n", HOME, name, "--", "id", "-u").strip() == "65532"
    cluster.kubectl("exec", "-n", HOME, name, "--", "touch", "/opt/tfjob/x", fails=True)


def test_default_settings_cause_no_warning(cluster: Cluster) -> None:
    """The jobs of other tests may cause some; the process itself has no reason to."""
    name = operator_pod(cluster)["metadata"]["name"]
    lines = cluster.kubectl("logs", "-n", HOME, name).splitlines()
    entries = [json.loads(line) for line in lines]
    own = [each for each in entries if each["logger"].startswith("tfjob.manager")]
    assert own
    assert not [each for each in own if each["level"] != "info"]
    assert "is forbidden: User" not in str(entries)  # a permission that the role lacks


@pytest.mark.parametrize("flags", [(), ("--logs",)], ids=["plain", "logs"])
def test_release_passes_its_own_test(cluster: Cluster, flags: tuple[str, ...]) -> None:
    said = cluster.helm("test", "tfjob", "--namespace", HOME, "--timeout", "2m", *flags)
    assert set(re.findall(r"^Phase: +(\w+)$", said, re.MULTILINE)) == {"Succeeded"}
    if flags:
        assert "ok 1 - e2e-test-job-" in said
