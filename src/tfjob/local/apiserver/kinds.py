"""The registry of served kinds and their properties.

A kind is one group and version of a stored resource: kinds with the same `resource` share their
objects. Defaults and validation are elsewhere.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

Json = dict[str, Any]
ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class Column(msgspec.Struct, frozen=True):
    """One column of a server-side table."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0
    path: str = ""


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    group: str = ""
    version: str = "v1"
    kind: str
    plural: str
    singular: str = ""
    list_kind: str = ""
    is_namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    has_status: bool = False
    has_generation: bool = False
    subresources: tuple[str, ...] = ()
    must_name_revision: bool = False  # an update without resourceVersion is refused
    verbs: tuple[str, ...] = ALL_VERBS
    is_custom: bool = False
    schema: Any = None  # the compiled schema of a custom kind
    storage_schema: Any = None  # the schema of the storage version, if it differs
    scale: Json | None = None
    columns: tuple[Column, ...] = ()
    selectable: tuple[str, ...] = ()  # field selectors beyond metadata.name and metadata.namespace
    warning: str = ""  # sent with every response of a deprecated version
    stored_as: str = ""  # resource of another kind with the same objects
    incoming: Callable[[Json], Json] | None = None  # converts to the stored form
    outgoing: Callable[[Json], Json] | None = None  # converts from the stored form

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The resource as messages name it: `pods`, `deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def group_kind(self) -> str:
        """The kind as messages name it: `Pod`, `TFJob.kubeflow.org`."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def resource(self) -> str:
        """The name under which objects are stored."""
        return self.stored_as or self.qualified

    @property
    def head(self) -> bytes:
        """The `kind` and `apiVersion` that are put before a stored body."""
        return f'{{"kind":"{self.kind}","apiVersion":"{self.api_version}",'.encode()


def _event_to_core(obj: Json) -> Json:
    return {_CORE_OF_EVENT.get(key, key): value for key, value in obj.items()}


def _event_from_core(obj: Json) -> Json:
    return {_EVENT_OF_CORE.get(key, key): value for key, value in obj.items() if value != ""}


_EVENT_OF_CORE = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_CORE_OF_EVENT = {new: old for old, new in _EVENT_OF_CORE.items()}
_EVENT_FIELDS = (
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
)
_POD_FIELDS = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
)
_SCALE_OF_PODS: Json = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".spec.selector",
}

BUILT_IN: tuple[Kind, ...] = (
    Kind(kind="ConfigMap", plural="configmaps", short_names=("cm",)),
    Kind(kind="Endpoints", plural="endpoints", singular="endpoints", short_names=("ep",)),
    Kind(kind="Event", plural="events", short_names=("ev",), selectable=_EVENT_FIELDS),
    Kind(
        kind="Namespace",
        plural="namespaces",
        is_namespaced=False,
        short_names=("ns",),
        has_status=True,
        subresources=("finalize",),
        selectable=("status.phase",),
    ),
    Kind(
        kind="Node",
        plural="nodes",
        is_namespaced=False,
        short_names=("no",),
        has_status=True,
        selectable=("spec.unschedulable",),
    ),
    Kind(
        kind="PersistentVolumeClaim",
        plural="persistentvolumeclaims",
        short_names=("pvc",),
        has_status=True,
    ),
    Kind(
        kind="Pod",
        plural="pods",
        short_names=("po",),
        categories=("all",),
        has_status=True,
        has_generation=True,
        subresources=("binding", "log"),
        selectable=_POD_FIELDS,
    ),
    Kind(kind="ResourceQuota", plural="resourcequotas", short_names=("quota",), has_status=True),
    Kind(kind="Secret", plural="secrets", selectable=("type",)),
    Kind(kind="ServiceAccount", plural="serviceaccounts", short_names=("sa",)),
    Kind(
        kind="Service",
        plural="services",
        short_names=("svc",),
        categories=("all",),
        has_status=True,
        selectable=("spec.clusterIP", "spec.type"),
    ),
    Kind(
        group="apiextensions.k8s.io",
        kind="CustomResourceDefinition",
        plural="customresourcedefinitions",
        is_namespaced=False,
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        has_status=True,
        has_generation=True,
        must_name_revision=True,
    ),
    Kind(
        group="apps",
        kind="Deployment",
        plural="deployments",
        short_names=("deploy",),
        categories=("all",),
        has_status=True,
        has_generation=True,
        scale=_SCALE_OF_PODS,
    ),
    Kind(
        group="apps",
        kind="ReplicaSet",
        plural="replicasets",
        short_names=("rs",),
        categories=("all",),
        has_status=True,
        has_generation=True,
        selectable=("status.replicas",),
        scale=_SCALE_OF_PODS,
    ),
    Kind(
        group="batch",
        kind="Job",
        plural="jobs",
        categories=("all",),
        has_status=True,
        has_generation=True,
        selectable=("status.successful",),
    ),
    Kind(
        group="coordination.k8s.io",
        kind="Lease",
        plural="leases",
        must_name_revision=True,
    ),
    Kind(
        group="events.k8s.io",
        kind="Event",
        plural="events",
        short_names=("ev",),
        stored_as="events",
        incoming=_event_to_core,
        outgoing=_event_from_core,
        selectable=(
            "reason",
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reportingController",
            "type",
        ),
    ),
    Kind(
        group="scheduling.k8s.io",
        kind="PriorityClass",
        plural="priorityclasses",
        is_namespaced=False,
        short_names=("pc",),
        has_generation=True,
    ),
)

POD_METRICS = Kind(
    group="metrics.k8s.io",
    version="v1beta1",
    kind="PodMetrics",
    plural="pods",
    singular="pod",
    verbs=("get", "list"),
)
"""Measured by a node on request, not stored."""


class Registry:
    """The kinds that are served: built-in ones and those of CRDs."""

    def __init__(self, kinds: Iterable[Kind] = BUILT_IN) -> None:
        self._kinds: dict[tuple[str, str, str], Kind] = {}
        for kind in kinds:
            self.add(kind)

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._kinds.values())

    def add(self, kind: Kind) -> None:
        filled = msgspec.structs.replace(
            kind,
            singular=kind.singular or kind.kind.lower(),
            list_kind=kind.list_kind or f"{kind.kind}List",
        )
        self._kinds[(kind.group, kind.version, kind.plural)] = filled

    def remove(self, *, group: str, plural: str) -> None:
        """Remove all versions of a resource."""
        self._kinds = {
            key: kind for key, kind in self._kinds.items() if (key[0], key[2]) != (group, plural)
        }

    def find(self, *, group: str, version: str, plural: str) -> Kind | None:
        return self._kinds.get((group, version, plural))

    def of_resource(self, resource: str) -> Kind | None:
        """Any kind of a stored resource."""
        return next((kind for kind in self if kind.resource == resource), None)

    def of_kind(self, api_version: str, kind: str) -> Kind | None:
        """The kind that an owner reference names, in any served version of the group."""
        group = api_version.rpartition("/")[0]
        return next((k for k in self if k.group == group and k.kind == kind), None)

    def groups(self) -> dict[str, list[str]]:
        """Served groups with their versions, the preferred one first."""
        found: dict[str, list[str]] = {}
        for kind in self:
            versions = found.setdefault(kind.group, [])
            if kind.version not in versions:
                versions.append(kind.version)
        return {group: sorted(versions, key=version_rank) for group, versions in found.items()}


def version_rank(version: str) -> tuple[int, int, int, str]:
    """Sort key of versions: v2, v1, v1beta2, v1alpha1, then others."""
    digits = version.removeprefix("v")
    for stage, word in enumerate(("", "beta", "alpha")):
        major, found, minor = digits.partition(word) if word else (digits, "", "0")
        is_version = version.startswith("v") and major.isdigit() and minor.isdigit()
        if is_version and (found or not word):
            return (stage, -int(major), -int(minor), "")
    return (3, 0, 0, version)
