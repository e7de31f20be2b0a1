"""The node's API calls, over HTTP.

A 404 or a conflicting UID means that the pod is gone; every other error is worth retrying.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from typing import Any, Literal

import msgspec

from tfjob.client.errors import AlreadyExists, ApiError, Conflict, Invalid, NotFound
from tfjob.client.events import EventRecorder
from tfjob.client.http import Api, PartialObjectMetadata
from tfjob.client.pager import Scope
from tfjob.client.resource import PODS, SERVICES, Resource
from tfjob.client.watch import Watch
from tfjob.client.watch_codec import Changed, Deleted, Replaced
from tfjob.k8s.event import Event
from tfjob.k8s.meta import ObjectMeta
from tfjob.local.node.api import (
    PodChanged,
    PodDeleted,
    PodEvent,
    PodGoneError,
    PodsReplaced,
    UnavailableError,
)

Json = Mapping[str, Any]
CONFIG_MAPS = Resource("", "v1", "configmaps")
SECRETS = Resource("", "v1", "secrets")
CLAIMS = Resource("", "v1", "persistentvolumeclaims")
NODES = Resource("", "v1", "nodes", namespaced=False)
# Events of one second are listed in the order in which they happen in the life of a pod.
_RANKS = {"Scheduled": 1, "Created": 2, "Started": 3, "Killing": 5}
_OTHER_RANK = 4


class _WatchedPod(msgspec.Struct, frozen=True):
    """A pod with the metadata that the node reads; other metadata is skipped."""

    metadata: ObjectMeta = ObjectMeta()
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}

    def json(self) -> Json:
        meta = msgspec.to_builtins(self.metadata)
        return {"metadata": meta, "spec": self.spec, "status": self.status}


class _Items(msgspec.Struct, frozen=True):
    items: list[dict[str, Any]] = []


class ClientApi:
    """Uses a client and an event recorder that its creator closes."""

    def __init__(self, api: Api, recorder: EventRecorder) -> None:
        self._api, self._recorder = api, recorder

    async def watch_pods(self) -> AsyncGenerator[PodEvent, None]:
        """The current pods, then every change; never ends."""
        watch = Watch(self._api, Scope(resource=PODS), decode=_WatchedPod)
        async with aclosing(watch.events()) as events:
            async for event in events:
                if isinstance(event, Replaced):
                    yield PodsReplaced(tuple(pod.json() for pod in event.objects))
                elif isinstance(event, Changed):
                    yield PodChanged(event.object.json())
                elif isinstance(event, Deleted):
                    yield PodDeleted(*event.key)

    async def bind(self, pod: Json, node: str) -> None:
        """Bind the pod to a node."""
        meta = {name: pod["metadata"][name] for name in ("name", "namespace", "uid")}
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}
        with _translated_errors():
            await self._api.create(_path(pod, "binding"), body, decode=PartialObjectMetadata)

    async def patch_status(self, pod: Json, status: Json) -> None:
        """Patch fields of the status; None removes a field."""
        body = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        with _translated_errors():
            await self._api.patch(_path(pod, "status"), body, decode=PartialObjectMetadata)

    async def annotate(self, pod: Json, annotations: Mapping[str, str | None]) -> None:
        """Patch annotations; None removes one."""
        body = {"metadata": {"uid": pod["metadata"]["uid"], "annotations": annotations}}
        with _translated_errors():
            await self._api.patch(_path(pod), body, decode=PartialObjectMetadata)

    async def delete_pod(self, pod: Json) -> None:
        """Delete the pod without a grace period: nothing of it runs any more."""
        with _translated_errors():
            await self._api.delete(_path(pod), uid=pod["metadata"]["uid"], grace_seconds=0)

    async def config_map(self, namespace: str, name: str) -> Json | None:
        """The ConfigMap, or None."""
        return await self._find(CONFIG_MAPS, namespace, name)

    async def secret(self, namespace: str, name: str) -> Json | None:
        """The Secret, or None."""
        return await self._find(SECRETS, namespace, name)

    async def claim(self, namespace: str, name: str) -> Json | None:
        """The PersistentVolumeClaim, or None."""
        return await self._find(CLAIMS, namespace, name)

    async def bind_claim(self, claim: Json) -> None:
        """Mark the PersistentVolumeClaim as bound to its folder; a claim that is gone is left."""
        meta, spec = claim["metadata"], claim.get("spec") or {}
        name, namespace = str(meta["name"]), str(meta["namespace"])
        uid = {"uid": meta["uid"]}
        volume = {"metadata": uid, "spec": {"volumeName": f"pvc-{meta['uid']}"}}
        bound = {
            "phase": "Bound",
            "accessModes": spec.get("accessModes") or [],
            "capacity": (spec.get("resources") or {}).get("requests") or {},
        }
        item = CLAIMS.item(name, namespace)
        status = CLAIMS.item(name, namespace, subresource="status")
        try:
            with _translated_errors():
                await self._api.patch(item, volume, decode=PartialObjectMetadata)
                body = {"metadata": uid, "status": bound}
                await self._api.patch(status, body, decode=PartialObjectMetadata)
        except PodGoneError:
            return  # another claim of that name, or none, is found at the next start

    async def services(self, namespace: str) -> Sequence[Json]:
        """All Services of the namespace."""
        with _translated_errors():
            found = await self._api.list_page(SERVICES.collection(namespace), decode=_Items)
        return found.items

    async def register(self, node: Json) -> None:
        """Create the Node, or update its annotations and status."""
        name = str(node["metadata"]["name"])
        with _translated_errors():
            try:
                await self._api.create(NODES.collection(), node, decode=PartialObjectMetadata)
            except AlreadyExists:
                annotations = {"annotations": node["metadata"].get("annotations") or {}}
                for path, body in (
                    (NODES.item(name), {"metadata": annotations}),
                    (NODES.item(name, subresource="status"), {"status": node["status"]}),
                ):
                    await self._api.patch(path, body, decode=PartialObjectMetadata)

    def post_event(
        self, pod: Json, *, kind: Literal["Normal", "Warning"], reason: str, message: str
    ) -> None:
        """Record an event about the pod; never blocks and never fails."""
        meta = pod["metadata"]
        event = Event(
            type=kind,
            reason=reason,
            message=message,
            api_version="v1",
            kind="Pod",
            namespace=str(meta["namespace"]),
            name=str(meta["name"]),
            uid=str(meta["uid"]),
            rank=_RANKS.get(reason, _OTHER_RANK),
        )
        self._recorder.record(event, key=f"{reason}/{message}", is_once=False)

    async def _find(self, resource: Resource, namespace: str, name: str) -> Json | None:
        try:
            return await self._api.get(resource.item(name, namespace), decode=dict[str, Any])
        except NotFound:
            return None
        except ApiError as fault:
            raise UnavailableError(str(fault)) from fault


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except (NotFound, Conflict) as fault:
        raise PodGoneError(str(fault)) from fault
    except ApiError as fault:
        # A patch with another UID is refused as an attempt to change the UID.
        is_other = isinstance(fault, Invalid) and "metadata.uid" in str(fault)
        kind = PodGoneError if is_other else UnavailableError
        raise kind(str(fault)) from fault


def _path(pod: Json, subresource: str = "") -> str:
    meta = pod["metadata"]
    return PODS.item(str(meta["name"]), str(meta["namespace"]), subresource=subresource)
