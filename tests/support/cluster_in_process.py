"""The whole local cluster in the process of a test."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from tfjob.local.cluster import LocalCluster
from tfjob.sdk.jobs import stored_dialects


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
