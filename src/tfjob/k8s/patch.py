"""The ways to patch a JSON value that an API server knows, and the patch between two values.

Inputs are never changed and results share nothing with them. A patch that does not fit is a
PatchError, and then nothing is patched. Which kind of object takes which patch is unknown here.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from tfjob.k8s.json_patch import PatchError, is_same, json_patch
from tfjob.k8s.strategic_patch import MERGE_KEYS, strategic

__all__ = ["MERGE_KEYS", "PatchError", "diff", "json_patch", "merge", "strategic"]


def merge(target: Any, patch: Any) -> Any:
    """JSON merge patch (RFC 7386): objects are merged, null removes, all else replaces."""
    if not isinstance(patch, Mapping):
        return deepcopy(patch)
    base = target if isinstance(target, Mapping) else {}
    merged = {}
    for key in dict.fromkeys([*base, *patch]):
        if key not in patch:
            merged[key] = deepcopy(base[key])
        elif patch[key] is not None:
            merged[key] = merge(base.get(key), patch[key])
    return merged


def diff(before: Any, after: Any) -> Any:
    """The smallest merge patch that turns one value into the other.

    A null that stands in an object of `after` cannot be told by a merge patch: it means removal.
    """
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return deepcopy(after)
    changes: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key not in before:
            changes[key] = deepcopy(value)
        elif not is_same(before[key], value):
            changes[key] = diff(before[key], value)
    return changes
