"""What an API server will refuse in a replica's pods although the job itself is valid.

A template passes through as it was written, so nothing here is a fault: each warning says where
it stands, what will happen, and what to write instead.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfjob.core.job import Replica

_PORT_NAME = re.compile(r"(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*")
_REFUSED = "the API server will refuse the pod"
_LISTS = ("initContainers", "containers")


def template_advice(replica: Replica) -> list[str]:
    spec = _mapping(replica.template.get("spec"))
    found = [*_on_policy(replica, spec), *_on_names(spec)]
    for kind in _LISTS:
        for place, container in enumerate(_list(spec.get(kind))):
            found += _on_container(_mapping(container), f"template.spec.{kind}[{place}]")
    return [f"{replica.type}: {each}" for each in found]


def _on_policy(replica: Replica, spec: Mapping[str, Any]) -> Iterator[str]:
    given = spec.get("restartPolicy")
    if given and given != replica.pod_restart_policy:
        yield (
            f"template.spec.restartPolicy is {given} and counts for nothing: the pods get"
            f" {replica.pod_restart_policy}; write restartPolicy beside replicas instead"
        )


def _on_names(spec: Mapping[str, Any]) -> Iterator[str]:
    """Containers of all lists share one space of names."""
    taken: set[str] = set()
    for kind in _LISTS:
        if spec.get(kind) is not None and not isinstance(spec[kind], list | tuple):
            yield _refused(
                f"template.spec.{kind} is no list", "write it as lines that begin with -"
            )
        for place, container in enumerate(_list(spec.get(kind))):
            path = f"template.spec.{kind}[{place}].name"
            name = _mapping(container).get("name")
            if not name:
                yield _refused(f"{path} is missing", "give every container a name")
            elif str(name) in taken:
                yield _refused(f"{path} {name} stands twice", "give every container its own name")
            taken.add(str(name))


def _on_container(container: Mapping[str, Any], path: str) -> Iterator[str]:
    for key in ("command", "args"):
        yield from _on_words(container.get(key), f"{path}.{key}")
    for place, variable in enumerate(_list(container.get("env"))):
        own = f"{path}.env[{place}]"
        if not _mapping(variable).get("name"):
            yield _refused(f"{own}.name is missing", "give the variable a name")
        yield from _on_text(_mapping(variable).get("value"), f"{own}.value")
    yield from _on_ports(_list(container.get("ports")), f"{path}.ports")


def _on_words(value: object, path: str) -> Iterator[str]:
    if value is not None and not isinstance(value, list | tuple):
        yield _refused(f"{path} is no list", "write it as a list of words, such as [python, a.py]")
    for place, word in enumerate(_list(value)):
        yield from _on_text(word, f"{path}[{place}]")


def _on_text(value: object, path: str) -> Iterator[str]:
    if value is not None and not isinstance(value, str):
        shown = str(value).lower() if isinstance(value, bool) else value
        yield _refused(f"{path} is {shown} and must be text", "put it in quotes")


def _on_ports(ports: Sequence[Any], path: str) -> Iterator[str]:
    taken: set[str] = set()
    for place, port in enumerate(ports):
        name = _mapping(port).get("name")
        if not isinstance(name, str) or not name:
            continue
        own = f"{path}[{place}].name {name}"
        if name in taken:
            yield _refused(f"{own} stands twice", "give every port its own name")
        elif _PORT_NAME.fullmatch(name) is None:
            yield _refused(f"{own} is no port name", "use up to 15 of a-z, 0-9 and single dashes")
        taken.add(name)


def _refused(what: str, remedy: str) -> str:
    return f"{what}: {_REFUSED}; {remedy}"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
