"""CustomResourceDefinitions: validates them, compiles their schemas and registers their kinds.

An established definition is served at once and after a restart. What cannot be served faithfully
(an unknown schema keyword, CEL outside the subset, conversion webhooks) is refused by name.
"""

from datetime import datetime
from functools import cached_property
from typing import Any

from tfjob.k8s import jsonpath, names, time
from tfjob.k8s.field import Fault, invalid, required, unsupported
from tfjob.local.apiserver import schema, schema_validation
from tfjob.local.apiserver.kinds import Column, Kind, Registry, version_rank
from tfjob.local.apiserver.schema import Node, SchemaError
from tfjob.local.apiserver.status import FieldError
from tfjob.local.apiserver.store import Change, Store

Json = dict[str, Any]
RESOURCE = "customresourcedefinitions.apiextensions.k8s.io"
_AGE = Column("Age", type="date", path=".metadata.creationTimestamp")


class Structural:
    """The schema of one version."""

    def __init__(self, spec: Json, path: str, *, scale: Json | None = None) -> None:
        self.root = Node(spec, path, is_root=True)
        fields = ("specReplicasPath", "statusReplicasPath")
        self.scale_paths = tuple(
            (scale or {})[field] for field in fields if (scale or {}).get(field)
        )

    @cached_property
    def has_defaults(self) -> bool:
        return any(node.has_default for node in self.root.walk())

    def prune(self, obj: Json) -> list[str]:
        unknown: list[str] = []
        schema.prune(self.root, obj, path="", unknown=unknown)
        return unknown

    def default(self, obj: Json) -> None:
        schema.default(self.root, obj)

    def faults(self, obj: Json, old: Json | None = None) -> list[FieldError]:
        more = list(schema_validation.scale_faults(obj, self.scale_paths))
        return schema_validation.check(self.root, obj, old=old, more=more)

    def status_faults(self, obj: Json, old: Json) -> list[FieldError]:
        more = list(schema_validation.scale_faults(obj, self.scale_paths))
        return schema_validation.check_status(self.root, obj, old=old, more=more)


class CrdRegistrar:
    """Keeps the registry equal to the stored definitions."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._registry = registry
        for stored in store.page(RESOURCE):
            self._serve(stored.object())
        store.listen(self._follow)

    def _follow(self, change: Change) -> None:
        if change.key.resource != RESOURCE:
            return
        if change.type == "DELETED":
            spec = change.object["spec"]
            self._registry.remove(group=spec["group"], plural=spec["names"]["plural"])
        elif change.object["spec"] != change.object_before.get("spec"):
            self._serve(change.object)

    def _serve(self, definition: Json) -> None:
        spec = definition["spec"]
        self._registry.remove(group=spec["group"], plural=spec["names"]["plural"])
        for index, version in enumerate(spec["versions"]):
            if version.get("served"):
                self._registry.add(kind_of(spec, version, index=index))


def prepare(definition: Json) -> None:
    """Set defaults of a definition, in place."""
    spec = definition.get("spec")
    if not isinstance(spec, dict):
        return
    spec.setdefault("conversion", {"strategy": "None"})
    naming = spec.get("names")
    if isinstance(naming, dict) and naming.get("kind"):
        naming.setdefault("singular", naming["kind"].lower())
        naming.setdefault("listKind", f"{naming['kind']}List")
    spec.pop("preserveUnknownFields", None)


def established(definition: Json, *, now: datetime, old: Json | None = None) -> None:
    """Set the status of an established definition, in place."""
    spec = definition["spec"]
    storage = _stored_version(spec)["name"]
    before = (old or {}).get("status") or {}
    kept = [name for name in before.get("storedVersions") or () if name != storage]
    definition["status"] = {
        "conditions": before.get("conditions") or _conditions(now),
        "acceptedNames": dict(spec["names"]),
        "storedVersions": [*kept, storage],
    }


def _conditions(now: datetime) -> list[Json]:
    common = {"lastTransitionTime": time.render(now), "observedGeneration": 1, "status": "True"}
    accepted = {"type": "NamesAccepted", "reason": "NoConflicts", "message": "no conflicts found"}
    served = {
        "type": "Established",
        "reason": "InitialNamesAccepted",
        "message": "the initial names have been accepted",
    }
    return [{**accepted, **common}, {**served, **common}]


def kind_of(spec: Json, version: Json, *, index: int) -> Kind:
    """A served version as a kind."""
    naming = spec["names"]
    below = version.get("subresources") or {}
    columns = version.get("additionalPrinterColumns")
    shown = tuple(_column(entry) for entry in columns) if columns else (_AGE,)
    is_stored = bool(version.get("storage"))
    return Kind(
        group=spec["group"],
        version=version["name"],
        kind=naming["kind"],
        plural=naming["plural"],
        singular=naming.get("singular", ""),
        list_kind=naming.get("listKind", ""),
        is_namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(naming.get("shortNames") or ()),
        categories=tuple(naming.get("categories") or ()),
        has_status="status" in below,
        is_custom=True,
        scale=below.get("scale"),
        schema=_structural(version, index=index),
        storage_schema=None if is_stored else _structural(_stored_version(spec), index=index),
        columns=shown,
        selectable=tuple(
            field["jsonPath"].lstrip(".") for field in version.get("selectableFields") or ()
        ),
        warning=_warning(spec, version),
    )


def _structural(version: Json, *, index: int) -> Structural:
    path = f"spec.versions[{index}].schema.openAPIV3Schema"
    spec = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return Structural(spec, path, scale=(version.get("subresources") or {}).get("scale"))


def _stored_version(spec: Json) -> Json:
    return next(dict(version) for version in spec["versions"] if version.get("storage"))


def _warning(spec: Json, version: Json) -> str:
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    group, kind, rank = spec["group"], spec["names"]["kind"], version_rank(version["name"])
    words = f"{group}/{version['name']} {kind} is deprecated"
    usable = [v["name"] for v in spec["versions"] if v.get("served") and not v.get("deprecated")]
    newer = sorted((name for name in usable if version_rank(name) < rank), key=version_rank)
    return f"{words}; use {group}/{newer[0]} {kind}" if newer else words


def _column(entry: Json) -> Column:
    return Column(
        entry["name"],
        type=entry.get("type", "string"),
        format=entry.get("format", ""),
        description=entry.get("description", ""),
        priority=entry.get("priority", 0),
        path=entry.get("jsonPath", ""),
    )


def faults(definition: Json) -> list[Fault | FieldError]:
    """Faults that would keep the definition from being served."""
    spec = definition.get("spec") or {}
    found: list[Fault | FieldError] = [*_name_faults(definition, spec)]
    conversion = (spec.get("conversion") or {}).get("strategy", "None")
    if conversion != "None":
        found.append(
            invalid(
                "spec.conversion.strategy",
                conversion,
                "conversion by webhook is not supported by the local API server of tfjob: use None",
            )
        )
    versions = spec.get("versions") or []
    stored = [version for version in versions if version.get("storage")]
    if len(stored) != 1:
        found.append(
            invalid(
                "spec.versions", versions, "must have exactly one version marked as storage version"
            )
        )
    for index, version in enumerate(versions):
        found += _version_faults(version, f"spec.versions[{index}]")
    return found


def _name_faults(definition: Json, spec: Json) -> list[Fault]:
    naming = spec.get("names") or {}
    found = [required(f"spec.{field}", "") for field in ("group", "scope") if not spec.get(field)]
    found += [required(f"spec.names.{f}", "") for f in ("plural", "kind") if not naming.get(f)]
    if spec.get("scope") not in {None, "Namespaced", "Cluster"}:
        found.append(unsupported("spec.scope", spec["scope"], ("Cluster", "Namespaced")))
    if found:
        return found
    wanted = f"{naming['plural']}.{spec['group']}"
    name = definition["metadata"].get("name")
    if name != wanted:
        found.append(invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    for text in names.dns1035_label_problems(naming["plural"]):
        found.append(invalid("spec.names.plural", naming["plural"], text))
    return found


def _version_faults(version: Json, path: str) -> list[Fault | FieldError]:
    found: list[Fault | FieldError] = []
    if not version.get("name"):
        return [required(f"{path}.name", "")]
    spec = (version.get("schema") or {}).get("openAPIV3Schema")
    at = f"{path}.schema.openAPIV3Schema"
    if not isinstance(spec, dict):
        return [required(at, "schemas are required")]
    if spec.get("type") != "object":
        found.append(invalid(f"{at}.type", spec.get("type", ""), "must be object at the root"))
    try:
        Structural(spec, at)
    except SchemaError as error:
        found.append(invalid(error.path, error.value, str(error)))
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        try:
            jsonpath.parse(column.get("jsonPath", ""))
        except jsonpath.PathError as error:
            where = f"{path}.additionalPrinterColumns[{index}].jsonPath"
            found.append(invalid(where, column.get("jsonPath"), str(error)))
    return found
