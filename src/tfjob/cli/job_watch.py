"""Follows the jobs of all APIs: yields every job that is created or changes."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from tfjob.client.errors import Forbidden, NotFound
from tfjob.client.http import PartialObjectMetadata
from tfjob.client.pager import Scope
from tfjob.client.watch import Watch
from tfjob.client.watch_codec import Changed, Replaced
from tfjob.dialects.base import Dialect
from tfjob.sdk import job_lookup, jobs
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.jobs import ClusterJob

Found = tuple[Dialect, PartialObjectMetadata]


async def changed_jobs(
    cluster: Cluster, dialects: Sequence[Dialect], *, labels: str = ""
) -> AsyncGenerator[ClusterJob, None]:
    """First the jobs that exist, then those that change; never ends.

    APIs that are not installed or may not be watched are left out.
    """
    queue: asyncio.Queue[Found] = asyncio.Queue()
    tasks = [asyncio.create_task(_watch(cluster, each, queue, labels=labels)) for each in dialects]
    try:
        while True:
            dialect, seen = await queue.get()
            inside = Cluster(api=cluster.api, namespace=seen.metadata.namespace)
            try:
                yield await job_lookup.get(inside, dialect, seen.metadata.name)
            except (NotFound, TFJobError):
                continue  # deleted meanwhile, or unreadable
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _watch(
    cluster: Cluster, dialect: Dialect, queue: asyncio.Queue[Found], *, labels: str
) -> None:
    resource = jobs.resource_of(dialect)
    scope = Scope(resource=resource, namespace=cluster.namespace, labels=labels)
    watch = Watch(
        cluster.api, scope, decode=PartialObjectMetadata, give_up_on=(NotFound, Forbidden)
    )
    try:
        async with aclosing(watch.events()) as changes:
            async for change in changes:
                match change:
                    case Replaced():
                        for each in change.objects:
                            queue.put_nowait((dialect, each))
                    case Changed():
                        queue.put_nowait((dialect, change.object))
    except (NotFound, Forbidden):
        return
