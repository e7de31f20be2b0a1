"""Objects that somebody else changes while a job and what was made for it are created."""

from typing import Any

import pytest

from tests.support.tfjobs import Json, tfjob
from tfjob.client.errors import Conflict
from tfjob.client.http import PartialObjectMetadata
from tfjob.sdk import submission
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError

MAPS = "/api/v1/namespaces/default/configmaps"
CODE: Json = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "code", "labels": {submission.MADE_FOR_JOB: "true"}},
    "data": {"train.py": "pass"},
}


async def code_of(cluster: Cluster) -> PartialObjectMetadata:
    return await cluster.api.get(f"{MAPS}/code", decode=PartialObjectMetadata)


async def test_what_is_made_for_two_jobs_at_once_belongs_to_both(
    bare_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch, has_second = bare_cluster.api.patch, False

    async def late(*args: Any, **options: Any) -> Any:
        nonlocal has_second
        if not has_second:
            has_second = True
            await submission.submit(bare_cluster, [CODE, tfjob("W1", name="second")])
        return await patch(*args, **options)

    monkeypatch.setattr(bare_cluster.api, "patch", late)
    await submission.submit(bare_cluster, [CODE, tfjob("W1", name="first")])
    owners = (await code_of(bare_cluster)).metadata.owner_references
    assert {each.name for each in owners} == {"first", "second"}


async def test_a_submission_fails_if_others_change_its_objects_all_the_time(
    bare_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch, count = bare_cluster.api.patch, 0

    async def late(path: str, change: Json, **options: Any) -> Any:
        nonlocal count
        count += 1
        assert count <= 5
        await patch(path, {"metadata": {"labels": {"count": str(count)}}}, **options)
        return await patch(path, change, **options)

    monkeypatch.setattr(bare_cluster.api, "patch", late)
    with pytest.raises(Conflict):
        await submission.submit(bare_cluster, [CODE, tfjob("W1")])


async def test_a_failed_submission_deletes_only_what_it_made(
    bare_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        await bare_cluster.api.delete(f"{MAPS}/code")
        await bare_cluster.api.create(MAPS, CODE, decode=PartialObjectMetadata)
        raise TFJobError("out of luck")

    monkeypatch.setattr(submission, "_read", fail)
    with pytest.raises(TFJobError, match="out of luck"):
        await submission.submit(bare_cluster, [CODE, tfjob("W1")])
    assert (await code_of(bare_cluster)).metadata.name == "code"
