"""Jobs that are deleted and created again between reading and writing."""

from collections.abc import Awaitable, Callable

import pytest

from tests.support.local_apiserver.serving import JOBS
from tests.support.tfjobs import Json, tfjob
from tfjob.client.errors import Conflict
from tfjob.client.http import PartialObjectMetadata
from tfjob.sdk import job_changes, job_lookup, restarting
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.jobs import ClusterJob

Change = Callable[[Cluster, ClusterJob], Awaitable[object]]


async def put(cluster: Cluster, *, is_suspended: bool) -> ClusterJob:
    job = tfjob("W2", run_policy={"suspend": is_suspended})
    await cluster.api.create(JOBS, job, decode=PartialObjectMetadata)
    return await job_lookup.find(cluster, "j")


async def manifest_of(cluster: Cluster) -> Json:
    return await cluster.api.get(f"{JOBS}/j", decode=dict)


@pytest.mark.parametrize(
    ("is_suspended", "change"),
    [
        (False, lambda on, job: job_changes.scale(on, job, 5)),
        (False, lambda on, job: job_changes.set_suspended(on, job, is_suspended=True)),
        (True, lambda on, job: job_changes.set_suspended(on, job, is_suspended=False)),
        (False, restarting.restart_all),
        (False, job_lookup.refreshed),
    ],
    ids=["scale", "suspend", "resume", "restart", "refresh"],
)
async def test_no_change_reaches_a_later_job_of_the_same_name(
    bare_cluster: Cluster, is_suspended: bool, change: Change
) -> None:
    found = await put(bare_cluster, is_suspended=is_suspended)
    await bare_cluster.api.delete(found.path)
    await put(bare_cluster, is_suspended=is_suspended)
    later = await manifest_of(bare_cluster)
    with pytest.raises(TFJobError, match="deleted, and another job was created under its name"):
        await change(bare_cluster, found)
    assert await manifest_of(bare_cluster) == later


async def test_a_later_job_of_the_same_name_is_not_deleted(bare_cluster: Cluster) -> None:
    found = await put(bare_cluster, is_suspended=False)
    await bare_cluster.api.delete(found.path)
    later = await put(bare_cluster, is_suspended=False)
    with pytest.raises(Conflict):
        await job_changes.delete(bare_cluster, found)
    assert (await job_lookup.find(bare_cluster, "j")).job.owner.uid == later.job.owner.uid


async def test_a_job_that_is_replaced_while_it_stops_is_not_resumed(bare_cluster: Cluster) -> None:
    found = await put(bare_cluster, is_suspended=False)

    async def replace(*_: object, **__: object) -> bool:
        await bare_cluster.api.delete(found.path)
        await put(bare_cluster, is_suspended=True)
        return True

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(restarting, "set_suspended", replace)
        with pytest.raises(TFJobError, match="another job was created under its name"):
            await restarting.restart_all(bare_cluster, found)
    assert (await manifest_of(bare_cluster))["spec"]["runPolicy"]["suspend"] is True
