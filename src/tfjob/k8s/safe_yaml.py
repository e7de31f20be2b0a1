"""Loads untrusted YAML within bounds.

The composer of libyaml recurses in C and crashes the process on deeply nested text, so the depth is
checked on parser events first. Aliases can expand a short text without limit, so the result is
checked too.
"""

from typing import Any, Final

import yaml

from tfjob.k8s.nesting import MAX_DEPTH, MAX_VALUES, TOO_DEEP, is_bounded

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class UnboundedError(yaml.YAMLError):
    """YAML that is nested too deeply or expands to too many values."""


def load(text: str | bytes) -> Any:
    """Load a single document; raises YAMLError or ValueError if that fails."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise UnboundedError(f"{TOO_DEEP}, at line {event.start_mark.line + 1}")
    value = yaml.load(text, Loader=_LOADER)  # noqa: S506 - a safe loader
    if not is_bounded(value):
        raise UnboundedError(f"aliases make it over {MAX_DEPTH} levels or {MAX_VALUES} values")
    return value
