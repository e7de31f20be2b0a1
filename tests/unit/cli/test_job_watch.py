import asyncio
from contextlib import aclosing
from pathlib import Path

from tests.support.local_apiserver.serving import JOBS, api_server_in_loop, put_status
from tests.support.patience import PATIENCE
from tests.support.tfjobs import tfjob
from tfjob.cli.job_watch import changed_jobs
from tfjob.client.http import PartialObjectMetadata
from tfjob.sdk.jobs import stored_dialects


async def test_jobs_that_exist_come_first_and_then_every_change(tmp_path: Path) -> None:
    async with api_server_in_loop(tmp_path / "data") as cluster:
        for name, team in (("a", "red"), ("b", "blue")):
            job = tfjob("W1", name=name)
            job["metadata"]["labels"] = {"team": team}
            await cluster.api.create(JOBS, job, decode=PartialObjectMetadata)
        stream = changed_jobs(cluster, stored_dialects(), labels="team=red")
        async with aclosing(stream) as changes, asyncio.timeout(PATIENCE):
            first = await anext(changes)
            assert (first.name, first.state) == ("a", "")
            await put_status(cluster, "b", "Running", "it runs")
            await put_status(cluster, "a", "Running", "it runs")
            second = await anext(changes)
            assert (second.name, second.state) == ("a", "Running")
