import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster_in_process import cluster_on
from tfjob.client.http import PartialObjectMetadata
from tfjob.client.resource import Resource
from tfjob.local.data_folder import DataFolderError

NODES = Resource("", "v1", "nodes", namespaced=False)
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", namespaced=False)
MAPS = "/api/v1/namespaces/default/configmaps"


async def test_stored_objects_are_found_after_a_restart_and_crds_are_updated(
    tmp_path: Path,
) -> None:
    body = {"metadata": {"name": "kept"}}
    name = "tfjobs.kubeflow.org"
    async with cluster_on(tmp_path / "data") as first:
        await first.api.create(MAPS, body, decode=PartialObjectMetadata)
        await first.api.patch(
            CRDS.item(name),
            {"spec": {"names": {"shortNames": ["old"]}}},
            decode=PartialObjectMetadata,
        )
    async with cluster_on(tmp_path / "data") as second:
        assert (
            await second.api.get(f"{MAPS}/kept", decode=PartialObjectMetadata)
        ).metadata.name == "kept"
        crd: dict[str, Any] = await second.api.get(CRDS.item(name), decode=dict)
    assert crd["spec"]["names"]["shortNames"] == ["tfj"]


async def test_one_folder_has_one_cluster(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with cluster_on(data):
        with pytest.raises(DataFolderError) as error:
            await cluster_on(data).start()
    assert f"a cluster already runs on this folder (process {os.getpid()})" in str(error.value)


def test_a_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataFolderError, match="cannot be used as data folder"):
        cluster_on(tmp_path / "file" / "data")


def test_a_newer_folder_is_rejected_before_anything_is_created(tmp_path: Path) -> None:
    (tmp_path / "format").write_text("2\n")
    with pytest.raises(DataFolderError, match=r"newer tfjob \(format 2, this one knows 1\)"):
        cluster_on(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["format"]


def test_tf_config_of_the_caller_is_not_passed_to_replicas(tmp_path: Path) -> None:
    made = cluster_on(tmp_path, {"TF_CONFIG": "{}", "KEPT": "yes", "PATH": "/bin"})
    assert made._settings.environ["KEPT"] == "yes"
    assert "TF_CONFIG" not in made._settings.environ


def test_the_client_is_not_available_before_the_start(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="not started"):
        _ = cluster_on(tmp_path).api
