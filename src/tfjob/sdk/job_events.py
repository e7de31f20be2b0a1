"""Events of a job and its pods, as `tfjob describe` lists them and `tfjob run` prints them."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from tfjob.client.http import Api
from tfjob.client.pager import Scope
from tfjob.client.resource import EVENTS
from tfjob.client.watch import Watch
from tfjob.client.watch_codec import Changed, Replaced
from tfjob.k8s.event import ObjectEvent
from tfjob.sdk import jobs
from tfjob.sdk.connection import Cluster
from tfjob.sdk.jobs import ClusterJob

WARNING = "Warning"


class JobEvent(ObjectEvent, frozen=True, rename="camel"):
    """An event of a job or of one of its pods."""


class _EventList(msgspec.Struct):
    items: list[JobEvent] | None = None


async def list_events(api: Api, namespace: str, *, fields: str = "") -> list[JobEvent]:
    """The events that match a field selector, by default all, oldest first."""
    path = EVENTS.collection(namespace)
    params = {"fieldSelector": fields} if fields else {}
    answer = await api.get(path, decode=_EventList, params=params)
    return sorted(answer.items or (), key=lambda each: each.order)


async def events_of(connected: Cluster, found: ClusterJob) -> list[JobEvent]:
    """All events of the job, and the warnings about its pods, deleted pods included."""
    own = await list_events(
        connected.api, found.namespace, fields=f"involvedObject.uid={found.job.owner.uid}"
    )
    fields = f"involvedObject.kind=Pod,type={WARNING}"
    of_pods = await list_events(connected.api, found.namespace, fields=fields)
    chosen = (each for each in of_pods if is_about(found, each))
    return sorted([*own, *chosen], key=lambda each: each.order)


def is_about(found: ClusterJob, event: JobEvent) -> bool:
    """Whether the event is about the job, or about a pod that it has or had."""
    involved = event.involved_object
    if involved.uid == found.job.owner.uid:
        return True
    seen, since = event.last_seen, found.created
    is_recent = since is None or (seen is not None and seen >= since)
    return involved.kind == "Pod" and is_recent and jobs.is_pod_name(found, involved.name)


async def watch_events(
    api: Api, namespace: str, *, fields: str = ""
) -> AsyncGenerator[JobEvent, None]:
    """The events that match a field selector, existing ones first; never ends."""
    scope = Scope(resource=EVENTS, namespace=namespace, fields=fields)
    async with aclosing(Watch(api, scope, decode=JobEvent).events()) as changes:
        async for change in changes:
            match change:
                case Replaced():
                    for event in sorted(change.objects, key=lambda each: each.order):
                        yield event
                case Changed():
                    yield change.object
