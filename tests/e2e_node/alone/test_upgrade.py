"""A release of an earlier chart is upgraded while jobs train, with the command of the page."""

import shutil
from pathlib import Path
from typing import Any

import yaml

from tests.e2e_node.alone.test_control import identities, train
from tests.support.helm import CHART, EVERY_DIALECT
from tests.support.node.client import HOME, Cluster, Namespace, commands_of, tfjob
from tests.support.node.images import OPERATOR
from tfjob.dialects.registry import DESCRIPTORS

NEW = "diagnosis"
"""The field of the status that the earlier definitions lack."""


def earlier_chart(folder: Path) -> Path:
    """The chart of the checkout under a lower version, with definitions that lack a field."""
    chart = folder / "tfjob"
    shutil.copytree(CHART, chart)
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    (chart / "Chart.yaml").write_text(yaml.safe_dump(about | {"version": "0.0.1"}))
    for path in (chart / "files" / "crds").iterdir():
        crd = yaml.safe_load(path.read_text())
        for version in crd["spec"]["versions"]:
            del status_of(version)[NEW]
        path.write_text(yaml.safe_dump(crd))
    return chart


def status_of(version: dict[str, Any]) -> dict[str, Any]:
    """The properties of the status in one version of a definition."""
    schema = version["schema"]["openAPIV3Schema"]
    found: dict[str, Any] = schema["properties"]["status"]["properties"]
    return found


def know_the_field(cluster: Cluster) -> list[bool]:
    """Whether each version of each definition has the field."""
    prefix = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    names = {each.definition["metadata"]["name"] for each in DESCRIPTORS}
    found = [cluster.get(f"{prefix}/{name}") for name in sorted(names)]
    return [NEW in status_of(version) for crd in found for version in crd["spec"]["versions"]]


def test_upgrade_brings_new_definitions_and_touches_no_pod(
    cluster: Cluster, namespace: Namespace, tmp_path: Path
) -> None:
    chart = earlier_chart(tmp_path)
    values = ("--set", f"image.repository={OPERATOR}", "--set", EVERY_DIALECT)
    cluster.helm("upgrade", "tfjob", str(chart), "--namespace", HOME, *values, "--wait")
    assert not any(know_the_field(cluster))
    before = train(namespace)
    cluster.follow(commands_of("## Upgrade"))
    assert all(know_the_field(cluster))
    assert "tfjob-0.0.1" not in cluster.helm("list", "--namespace", HOME)
    words = ("--seconds", "1", "--exit", "3")
    namespace.create(tfjob({"Worker": (1, words)}, name="new", restart="Never"))
    found = namespace.until_condition("Failed", "new")
    assert found["status"][NEW]["exitCode"] == 3
    assert before.items() <= identities(namespace).items()
