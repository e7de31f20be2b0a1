from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster_in_process import cluster_on
from tfjob.client.http import PartialObjectMetadata
from tfjob.client.resource import Resource

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


def test_the_client_is_not_available_before_the_start(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="not started"):
        _ = cluster_on(tmp_path).api
