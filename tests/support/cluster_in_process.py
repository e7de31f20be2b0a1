"""Clusters in the process of a test: the whole local cluster, or its API server alone."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.local_apiserver.serving import api_server_in_loop
from tfjob.client.errors import NotFound
from tfjob.local.cluster import LocalCluster
from tfjob.sdk.connection import Cluster
from tfjob.sdk.jobs import stored_dialects

Json = dict[str, Any]


def cluster_on(data: Path, environ: Mapping[str, str] | None = None) -> LocalCluster:
    """A cluster that is not started; its commands run in the folder above its data."""
    return LocalCluster(
        data, workdir=data.parent, dialects=stored_dialects(), environ=environ or {}
    )


@pytest.fixture
async def local_cluster(tmp_path: Path) -> AsyncIterator[LocalCluster]:
    """A running cluster, whose commands run in `tmp_path`."""
    async with cluster_on(tmp_path / "data", {"PATH": "/usr/bin:/bin"}) as found:
        yield found


@pytest.fixture
async def bare_cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    """A client of an API server that knows all job APIs, without operator and node."""
    async with api_server_in_loop(tmp_path) as found:
        yield found


async def object_once(cluster: LocalCluster, path: str, is_so: Callable[[Json], object]) -> Json:
    """The object once it is so, empty if it is gone; the test's own time limit ends the wait."""
    while True:
        try:
            found: Json = await cluster.api.get(path, decode=dict)
        except NotFound:
            found = {}
        if is_so(found):
            return found
        await asyncio.sleep(0.02)
