"""Files of volumes from ConfigMaps, Secrets and the downward API.

Keys become files, `items` select and rename them. A missing source that is not optional is an
error, and no path leads out of the volume.
"""

import base64
import binascii
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import msgspec

from tfjob.local.node.environment import containers_of, field_value, resource_value

Json = Mapping[str, Any]
Files = dict[str, tuple[bytes, int]]
_FILE_SOURCES = ("configMap", "secret", "downwardAPI")


class VolumeError(Exception):
    """A volume that cannot be made now, and why."""


class FetchedObjects(msgspec.Struct, frozen=True, kw_only=True):
    """ConfigMaps and Secrets by name; None for one that does not exist."""

    config_maps: Mapping[str, Json | None]
    secrets: Mapping[str, Json | None]
    allocatable: Mapping[str, str]
    token: str = ""
    """The token for the API server; empty if pods get none."""


class FileSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where the files of one volume come from."""

    name: str
    pod: Json
    found: FetchedObjects
    mode: int


def config_map_values(config_map: Json) -> dict[str, bytes]:
    """The keys of a ConfigMap with their bytes."""
    texts = {key: str(text).encode() for key, text in (config_map.get("data") or {}).items()}
    return texts | _decoded(config_map.get("binaryData") or {})


def secret_values(secret: Json) -> dict[str, bytes]:
    """The keys of a Secret with their bytes."""
    plain = {key: str(text).encode() for key, text in (secret.get("stringData") or {}).items()}
    return _decoded(secret.get("data") or {}) | plain


def texts(values: Mapping[str, bytes]) -> dict[str, str]:
    """Values as text; invalid UTF-8 is replaced."""
    return {key: data.decode("utf-8", "replace") for key, data in values.items()}


def checked_path(path: str) -> PurePosixPath:
    """A path that stays below its volume."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts:
        raise VolumeError(f"path {path!r}: must be relative and without '..'; nothing was mounted")
    return pure


def files_of(part: Json, source: FileSource) -> Files:
    """The files of one source by path, with their modes."""
    if "configMap" in part:
        reference = part["configMap"]
        name = str(reference.get("name"))
        found = source.found.config_maps.get(name)
        values = None if found is None else config_map_values(found)
        return _chosen(f'configmap "{name}"', reference, values, source)
    if "secret" in part:
        reference = part["secret"]
        name = str(reference.get("secretName") or reference.get("name"))
        found = source.found.secrets.get(name)
        values = None if found is None else secret_values(found)
        return _chosen(f'secret "{name}"', reference, values, source)
    if "downwardAPI" in part:
        return _fields(part["downwardAPI"], source)
    if "serviceAccountToken" in part and source.found.token:
        path = checked_path(str(part["serviceAccountToken"].get("path")))
        return {str(path): (source.found.token.encode(), source.mode)}
    raise VolumeError(
        f'volume "{source.name}": source {", ".join(sorted(part)) or "nothing"} is not supported '
        f"on this machine, only {', '.join(_FILE_SOURCES)}"
    )


def _chosen(
    what: str, reference: Json, values: Mapping[str, bytes] | None, source: FileSource
) -> Files:
    optional = bool(reference.get("optional"))
    if values is None:
        if optional:
            return {}
        raise VolumeError(f'volume "{source.name}": {what} not found')
    if not reference.get("items"):
        return {str(checked_path(key)): (data, source.mode) for key, data in values.items()}
    files: Files = {}
    for item in reference["items"]:
        key = str(item.get("key"))
        if key in values:
            path = checked_path(str(item.get("path")))
            files[str(path)] = (values[key], item.get("mode") or source.mode)
        elif not optional:
            raise VolumeError(f'volume "{source.name}": {what} has no key {key!r}')
    return files


def _fields(reference: Json, source: FileSource) -> Files:
    files: Files = {}
    for item in reference.get("items") or ():
        path = str(checked_path(str(item.get("path"))))
        files[path] = (_field(item, source).encode(), item.get("mode") or source.mode)
    return files


def _field(item: Json, source: FileSource) -> str:
    try:
        if "fieldRef" in item:
            return field_value(source.pod, str(item["fieldRef"].get("fieldPath")))
        wanted = item["resourceFieldRef"]
        named = [c for c in containers_of(source.pod) if c.get("name") == wanted["containerName"]]
        return resource_value(wanted, named[0], source.found.allocatable)
    except (KeyError, IndexError) as fault:
        raise VolumeError(f'volume "{source.name}": unsupported field {fault}') from fault


def _decoded(data: Json) -> dict[str, bytes]:
    values = {}
    for key, text in data.items():
        try:
            values[key] = base64.b64decode(str(text), validate=True)
        except binascii.Error as fault:
            raise VolumeError(f"key {key!r}: not base64: {fault}") from fault
    return values
