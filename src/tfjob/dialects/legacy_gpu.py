"""The resource name of GPUs from before device plugins, which no cluster of today offers.

Pods that ask for it stay Pending. Templates are never modified in place.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tfjob.dialects.stored_values import mapping, mappings

LEGACY = "alpha.kubernetes.io/nvidia-gpu"
CURRENT = "nvidia.com/gpu"
_CONTAINERS = ("containers", "initContainers")
_AMOUNTS = ("limits", "requests")
_Json = Mapping[str, Any]


def requests_in(template: _Json) -> Iterator[str]:
    """The paths in a template that ask for it, such as `template.spec.containers[0]…`."""
    spec = mapping(template.get("spec"))
    for key in _CONTAINERS:
        for index, container in enumerate(mappings(spec.get(key))):
            resources = mapping(container.get("resources"))
            for amounts in _AMOUNTS:
                if LEGACY in mapping(resources.get(amounts)):
                    yield f"template.spec.{key}[{index}].resources.{amounts}"


def warning(path: str, *, outcome: str) -> str:
    """A warning about one place; `outcome` is what happens to its pods."""
    return (
        f"{path} asks for {LEGACY}, which Kubernetes has not offered since 1.11: {outcome};"
        f" write {CURRENT}"
    )


def translated(template: _Json) -> _Json:
    """The template with requests for GPUs of today; the same object if it has no others."""
    if next(requests_in(template), None) is None:
        return template
    spec = mapping(template.get("spec"))
    changed = {
        key: [_translated_container(each) for each in mappings(spec[key])]
        for key in _CONTAINERS
        if spec.get(key)
    }
    return {**template, "spec": {**spec, **changed}}


def _translated_container(container: _Json) -> _Json:
    resources = mapping(container.get("resources"))
    changed = {
        key: _translated_amounts(mapping(resources[key])) for key in _AMOUNTS if resources.get(key)
    }
    return {**container, "resources": {**resources, **changed}} if changed else container


def _translated_amounts(amounts: _Json) -> _Json:
    """An amount under the name of today takes precedence."""
    if LEGACY not in amounts:
        return amounts
    others = {name: amount for name, amount in amounts.items() if name != LEGACY}
    return {CURRENT: amounts[LEGACY], **others}
