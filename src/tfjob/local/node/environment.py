"""Environment variables and command line of a container, as Kubernetes defines them.

Later sources override earlier ones, `$(NAME)` refers to variables defined before, `$$` is a dollar
sign, and an unknown name is left as it is. All faults are reported, not only the first.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from tfjob.k8s import quantity

Json = Mapping[str, Any]
_REFERENCE = re.compile(r"\$(?:\$|\(([^()]*)\))")
_ENV_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """Where the values of a container's variables come from."""

    pod: Json
    config_maps: Mapping[str, Json | None]
    secrets: Mapping[str, Json | None]
    allocatable: Mapping[str, str]


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """The variables of a container; it cannot start while `faults` is not empty."""

    variables: dict[str, str]
    faults: tuple[str, ...]


class _MissingError(Exception):
    """A required reference cannot be resolved."""


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace `$(NAME)` where the name is known, and `$$` by a dollar sign."""

    def replacement(match: re.Match[str]) -> str:
        name = match.group(1)
        if name is None:
            return "$"
        return variables.get(name, match.group(0))

    return _REFERENCE.sub(replacement, text)


def command_line(container: Json, variables: Mapping[str, str]) -> tuple[str, ...]:
    """`command` and `args`, expanded; empty if the container has no command."""
    command = container.get("command") or ()
    if not command:
        return ()
    words = [*command, *(container.get("args") or ())]
    return tuple(expand(str(word), variables) for word in words)


def environment_of(container: Json, sources: Sources) -> Environment:
    """`envFrom`, then `env`, in order."""
    variables: dict[str, str] = {}
    faults: list[str] = []
    for source in container.get("envFrom") or ():
        with _collected(faults):
            variables.update(_from_whole(source, sources))
    for entry in container.get("env") or ():
        with _collected(faults):
            _define(entry, variables, container, sources)
    return Environment(variables=variables, faults=tuple(faults))


def references(pod: Json) -> tuple[frozenset[str], frozenset[str]]:
    """Names of the ConfigMaps and Secrets that the pod's variables refer to."""
    maps, secrets = set(), set()
    for container in containers_of(pod):
        for source in container.get("envFrom") or ():
            maps.add((source.get("configMapRef") or {}).get("name"))
            secrets.add((source.get("secretRef") or {}).get("name"))
        for entry in container.get("env") or ():
            origin = entry.get("valueFrom") or {}
            maps.add((origin.get("configMapKeyRef") or {}).get("name"))
            secrets.add((origin.get("secretKeyRef") or {}).get("name"))
    return frozenset(filter(None, maps)), frozenset(filter(None, secrets))


def containers_of(pod: Json) -> Sequence[Json]:
    """Init containers, then the others."""
    spec = pod.get("spec") or {}
    return [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]


def field_value(pod: Json, path: str) -> str:
    """The downward API value of a pod field; KeyError for an unsupported path."""
    meta, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    subscript = _SUBSCRIPT.fullmatch(path)
    if subscript:
        return str((meta.get(subscript[1]) or {}).get(subscript[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        pairs = sorted((meta.get(path.partition(".")[2]) or {}).items())
        return "\n".join(f"{key}={_quoted(value)}" for key, value in pairs)
    if path in ("metadata.name", "metadata.namespace", "metadata.uid"):
        return str(meta.get(path.partition(".")[2], ""))
    if path in ("spec.nodeName", "spec.serviceAccountName"):
        return str(spec.get(path.partition(".")[2], ""))
    if path in ("status.podIP", "status.podIPs", "status.hostIP", "status.hostIPs"):
        return "127.0.0.1"
    raise KeyError(path)


def resource_value(reference: Json, container: Json, allocatable: Mapping[str, str]) -> str:
    """A request or limit in the given unit, rounded up; else the node's allocatable."""
    kind, _, resource = str(reference.get("resource", "")).partition(".")
    resources = container.get("resources") or {}
    text = (resources.get(kind) or {}).get(resource)
    if text is None and kind == "limits":
        text = allocatable.get(resource)
    amount = quantity.parse(text if text is not None else "0")
    divisor = quantity.parse(reference.get("divisor") or "1")
    if kind not in ("limits", "requests") or amount is None or divisor is None:
        raise KeyError(str(reference.get("resource")))
    return str(-(-amount.nano // (divisor.nano or 1)))


def _define(entry: Json, variables: dict[str, str], container: Json, sources: Sources) -> None:
    name = str(entry.get("name", ""))
    origin = entry.get("valueFrom")
    if origin is None:
        variables[name] = expand(str(entry.get("value") or ""), variables)
        return
    value = _from_reference(origin, container, sources)
    if value is not None:
        variables[name] = value


def _from_reference(origin: Json, container: Json, sources: Sources) -> str | None:
    if "configMapKeyRef" in origin:
        return _key(origin["configMapKeyRef"], "configmap", sources.config_maps)
    if "secretKeyRef" in origin:
        return _key(origin["secretKeyRef"], "secret", sources.secrets)
    try:
        if "fieldRef" in origin:
            return field_value(sources.pod, str(origin["fieldRef"].get("fieldPath")))
        if "resourceFieldRef" in origin:
            reference = origin["resourceFieldRef"]
            return resource_value(reference, container, sources.allocatable)
    except KeyError as unknown:
        raise _MissingError(f"unsupported field {unknown} in valueFrom") from unknown
    raise _MissingError(
        f"valueFrom with {', '.join(sorted(origin)) or 'nothing'} is not supported here"
    )


def _key(reference: Json, kind: str, found: Mapping[str, Json | None]) -> str | None:
    name, key = str(reference.get("name", "")), str(reference.get("key", ""))
    values = found.get(name)
    if values is not None and key in values:
        return str(values[key])
    if reference.get("optional"):
        return None
    if values is None:
        raise _MissingError(f'{kind} "{name}" not found')
    raise _MissingError(f'couldn\'t find key {key} in {kind} "{name}"')


def _from_whole(source: Json, sources: Sources) -> dict[str, str]:
    tables: Sequence[tuple[str, str, Mapping[str, Json | None]]] = (
        ("configMapRef", "configmap", sources.config_maps),
        ("secretRef", "secret", sources.secrets),
    )
    prefix = str(source.get("prefix") or "")
    for field, kind, found in tables:
        reference = source.get(field)
        if reference:
            values = found.get(str(reference.get("name", "")))
            if values is None and not reference.get("optional"):
                raise _MissingError(f'{kind} "{reference.get("name", "")}" not found')
            pairs = {prefix + key: str(value) for key, value in (values or {}).items()}
            return {key: value for key, value in pairs.items() if _ENV_NAME.fullmatch(key)}
    return {}


@contextmanager
def _collected(faults: list[str]) -> Iterator[None]:
    try:
        yield
    except _MissingError as fault:
        faults.append(str(fault))


def _quoted(value: object) -> str:
    return msgspec.json.encode(str(value)).decode()
