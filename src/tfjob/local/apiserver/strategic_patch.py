"""Strategic merge patch, which merges some lists by key.

A table maps fields, named with their parent, to the merge key of their elements. Other lists are
replaced. Inputs are never changed, and results share nothing with them. The order of merged lists
is kube-apiserver's.
"""

from collections.abc import Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import Any

from tfjob.local.apiserver.json_patch import PatchError

Keys = Mapping[str, str]

# The merge key of a list of plain values, which is merged as a set.
SET = ""

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE = "$deleteFromPrimitiveList/"
_DIRECTIVES = (_RETAIN, _ORDER, _DELETE)

_OF_A_CONTAINER = {
    "env": "name",
    "ports": "containerPort",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
}
_OF_A_POD = {
    "spec.containers": "name",
    "spec.ephemeralContainers": "name",
    "spec.hostAliases": "ip",
    "spec.imagePullSecrets": "name",
    "spec.initContainers": "name",
    "spec.resourceClaims": "name",
    "spec.schedulingGates": "name",
    "spec.topologySpreadConstraints": "topologyKey",
    "spec.volumes": "name",
    "status.hostIPs": "ip",
    "status.podIPs": "ip",
    "status.resourceClaimStatuses": "name",
}

MERGE_KEYS: Keys = MappingProxyType(
    {
        "metadata.finalizers": SET,
        "metadata.ownerReferences": "uid",
        "spec.podCIDRs": SET,
        "spec.ports": "port",
        "status.addresses": "type",
        "status.conditions": "type",
    }
    | _OF_A_POD
    | {
        f"{containers}.{name}": key
        for containers in ("containers", "ephemeralContainers", "initContainers")
        for name, key in _OF_A_CONTAINER.items()
    }
)


def strategic(target: Any, patch: Any, *, merge_keys: Keys = MERGE_KEYS) -> Any:
    """The target with the patch applied."""
    try:
        # Below, parts of both become parts of the result.
        change = _object(deepcopy(patch), name="patch")
        return _merged_object(deepcopy(target), change, name="", keys=merge_keys)
    except PatchError as error:
        raise PatchError(f"strategic merge patch: {error}; patch not applied") from error


def _merged_object(
    target: Any, patch: Mapping[str, Any], *, name: str, keys: Keys
) -> dict[str, Any]:
    """The object in field `name`, merged field by field unless `$patch` says otherwise."""
    directive = patch.get(_PATCH)
    if directive == "delete":
        return {}
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _PATCH}
    if directive is not None:
        raise _unknown(directive, name=name)
    base = target if isinstance(target, Mapping) else {}
    result = _without_dropped(base, patch)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif not key.startswith(_DIRECTIVES) and not _is_moot(result.get(key), value):
            result[key] = _merged_value(result.get(key), value, path=(name, key), keys=keys)
    return result | _ordered(result, patch, base=base, path=name, keys=keys)


def _is_moot(target: Any, patch: Any) -> bool:
    """Whether the patch is only a directive, and there is no object."""
    return isinstance(patch, Mapping) and _PATCH in patch and not isinstance(target, Mapping)


def _without_dropped(base: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """The object without the fields and values that the patch deletes."""
    retained = _list(patch.get(_RETAIN, [*base]), name=_RETAIN)
    result = {key: value for key, value in base.items() if key in retained}
    for directive, values in patch.items():
        field = directive.removeprefix(_DELETE)
        if field != directive and isinstance(result.get(field), list):
            dropped = _list(values, name=directive)
            result[field] = [value for value in result[field] if value not in dropped]
    return result


def _ordered(
    result: Mapping[str, Any],
    patch: Mapping[str, Any],
    *,
    base: Mapping[str, Any],
    path: str,
    keys: Keys,
) -> dict[str, list[Any]]:
    """Lists for which the patch sets the order."""
    ordered = {}
    for directive, order in patch.items():
        field = directive.removeprefix(_ORDER)
        merge_key = keys.get(f"{path}.{field}")
        if field != directive and merge_key is not None and isinstance(result.get(field), list):
            wanted = _identities(_list(order, name=directive), merge_key)
            live = _identities(base.get(field), merge_key)
            ordered[field] = _arranged(result[field], wanted, live=live, merge_key=merge_key)
    return ordered


def _merged_value(target: Any, patch: Any, *, path: tuple[str, str], keys: Keys) -> Any:
    parent, field = path
    if isinstance(patch, Mapping):
        return _merged_object(target, patch, name=field, keys=keys)
    merge_key = keys.get(f"{parent}.{field}")
    if merge_key is None or not isinstance(patch, list):
        return patch
    live = target if isinstance(target, list) else []
    if merge_key == SET:
        merged = _union(live, patch)
    else:
        merged = _merged_elements(live, patch, merge_key=merge_key, name=field, keys=keys)
    wanted = _identities(patch, merge_key)
    known = _identities(live, merge_key)
    return _arranged(merged, wanted, live=known, merge_key=merge_key)


def _union(live: list[Any], patch: list[Any]) -> list[Any]:
    union: list[Any] = []
    for value in [*live, *patch]:
        if value not in union:
            union.append(value)
    return union


def _merged_elements(
    live: list[Any], patch: list[Any], *, merge_key: str, name: str, keys: Keys
) -> list[Any]:
    """A list merged by key: deleted elements removed, new ones last."""
    for element in patch:
        _check_element(element, merge_key=merge_key, name=name)
    deleted = _identities([each for each in patch if each.get(_PATCH) == "delete"], merge_key)
    is_replaced = any(each.get(_PATCH) == "replace" for each in patch)
    result = [] if is_replaced else [e for e in live if _identity(e, merge_key) not in deleted]
    for element in (each for each in patch if _PATCH not in each):
        identities = _identities(result, merge_key)
        if element[merge_key] in identities:
            place = identities.index(element[merge_key])
            result[place] = _merged_object(result[place], element, name=name, keys=keys)
        else:
            result.append(_merged_object({}, element, name=name, keys=keys))
    return result


def _check_element(element: Any, *, merge_key: str, name: str) -> None:
    directive = _object(element, name=name).get(_PATCH)
    if directive not in [None, "delete", "replace"]:
        raise _unknown(directive, name=name)
    if directive != "replace" and merge_key not in element:
        raise PatchError(f"{name}: an element lacks its merge key {merge_key!r}: {element}")


def _arranged(
    elements: list[Any], wanted: list[Any], *, live: list[Any], merge_key: str
) -> list[Any]:
    """The elements in the given order; others keep their place relative to their successors."""
    named = [each for each in elements if _identity(each, merge_key) in wanted]
    named.sort(key=lambda each: wanted.index(_identity(each, merge_key)))
    arranged: list[Any] = []
    for other in elements:
        identity = _identity(other, merge_key)
        if identity in wanted:
            continue
        while named and not _stands_before(identity, _identity(named[0], merge_key), live):
            arranged.append(named.pop(0))
        arranged.append(other)
    return arranged + named


def _stands_before(one: Any, other: Any, live: list[Any]) -> bool:
    return one in live and other in live and live.index(one) < live.index(other)


def _identities(elements: Any, merge_key: str) -> list[Any]:
    return [_identity(each, merge_key) for each in elements] if isinstance(elements, list) else []


def _identity(element: Any, merge_key: str) -> Any:
    if merge_key == SET:
        return element
    return element.get(merge_key) if isinstance(element, Mapping) else None


def _object(value: Any, *, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise PatchError(f"{name}: must be an object, got {type(value).__name__}")
    return value


def _list(value: Any, *, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise PatchError(f"{name}: must be a list, got {type(value).__name__}")
    return value


def _unknown(directive: Any, *, name: str) -> PatchError:
    where = f"{name}: " if name else ""
    return PatchError(f"{where}{_PATCH} must be 'delete' or 'replace', got {directive!r}")
