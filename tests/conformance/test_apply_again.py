"""A TfJob whose file is applied again: what has not changed is accepted and changes nothing."""

import asyncio
import copy
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support import seeds
from tests.support.dialect_jobs import Jobs, id_of
from tests.support.fake_kubelet.driver import runs
from tests.support.job_fixture import JobFixture

Json = dict[str, Any]
DOCUMENTS = [each for each in seeds.JOBS if each.startswith("001-")]


@pytest.fixture
async def jobs(fixture: JobFixture) -> AsyncIterator[Jobs]:
    fixture.kubelet.script("*", runs)
    made = Jobs(fixture, "tensorflow.org/v1alpha1")
    yield made
    await made.clear()


async def kubectl(jobs: Jobs, *words: str, document: Json, fails: bool = False) -> str:
    told = ("-n", jobs.fixture.namespace, *words, "-f", "-")
    run, text = jobs.fixture.env.kubectl, json.dumps(document)
    return await asyncio.to_thread(run, *told, stdin=text, fails=fails)


async def running(jobs: Jobs, document: Json, *how: str) -> Json:
    """The job of a document once it runs, so that the operator has written all it writes."""
    name = document["metadata"]["name"]
    await kubectl(jobs, "apply", *how, document=document)
    await jobs.comes_to("Running", name=name)
    return await settled(jobs, name)


async def settled(jobs: Jobs, name: str) -> Json:
    """The job once every replica runs: no status is due any more."""

    def all_run(job: Json) -> bool:
        states = [each["ReplicasStates"] for each in job["status"]["replicaStatuses"]]
        return all(set(each) == {"Running"} for each in states)

    return await jobs.until("all run", all_run, name=name)


def told(job: Json) -> Json:
    """What a change of the job would change."""
    metadata = {key: job["metadata"][key] for key in ("uid", "generation")}
    return {"metadata": metadata, "spec": job["spec"]}


@pytest.mark.parametrize("how", [(), ("--server-side",)], ids=["client-side", "server-side"])
@pytest.mark.parametrize("name", DOCUMENTS)
async def test_seed_001_line_14_unchanged_file_applied_again_changes_nothing(
    jobs: Jobs, name: str, how: tuple[str, ...]
) -> None:
    document = seeds.submitted(name)
    before = await running(jobs, document, *how)
    assert id_of(before)
    await kubectl(jobs, "diff", *how, document=document)
    await kubectl(jobs, "apply", *how, document=document)
    after = await jobs.get(document["metadata"]["name"])
    assert told(after) == told(before)


async def test_file_that_says_something_else_is_refused(jobs: Jobs) -> None:
    document = seeds.submitted("001-example-job")
    before = await running(jobs, document)
    changed = copy.deepcopy(document)
    changed["spec"]["replicaSpecs"][2]["replicas"] = 3
    words = await kubectl(jobs, "apply", document=changed, fails=True)
    assert "delete the job and create it again with the new spec" in words
    assert told(await jobs.get("example-job")) == told(before)
