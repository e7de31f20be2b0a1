"""Generates the RBAC rules that the chart's roles include.

There is one template per need, so that a role contains only what the operator uses. The reason of
each rule is a comment above it.
"""

import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from tfjob.manager.permissions import PERMISSIONS, Permission

HEADER = "{{- /* Made from the code by `make generate`; not edited by hand. */ -}}\n"
_ONE_NAME = '{{ include "tfjob.leaseName" . | quote }}'
_NAMELESS = frozenset({"create", "list", "watch"})
"""Verbs that a role cannot limit to a name."""


def page(_root: Path) -> str:
    """The templates of all needs."""
    needs = dict.fromkeys(each.need for each in PERMISSIONS)
    return HEADER + "".join(map(_template, needs))


def _template(need: str) -> str:
    rules = [_rule(each) for each in PERMISSIONS if each.need == need]
    return f'\n{{{{- define "tfjob.rules.{need}" -}}}}\n{"".join(rules)}{{{{- end -}}}}\n'


def _rule(permission: Permission) -> str:
    reason = textwrap.wrap(permission.why, width=96, initial_indent="# ", subsequent_indent="# ")
    parts = [
        line
        for verbs, is_named in _parts(permission)
        for line in _lines(permission, verbs, is_named=is_named)
    ]
    return "".join(f"{line}\n" for line in (*reason, *parts))


def _parts(permission: Permission) -> Iterator[tuple[list[str], bool]]:
    """The verbs of a permission, split if only some of them can be limited to one name."""
    if not permission.has_one_name:
        yield list(permission.verbs), False
        return
    for is_named in (False, True):
        verbs = [verb for verb in permission.verbs if (verb not in _NAMELESS) is is_named]
        if verbs:
            yield verbs, is_named


def _lines(permission: Permission, verbs: Iterable[str], *, is_named: bool) -> Iterator[str]:
    yield f'- apiGroups: ["{permission.resource.group}"]'
    yield f'  resources: ["{permission.name}"]'
    if is_named:
        yield f"  resourceNames: [{_ONE_NAME}]"
    quoted = ", ".join(f'"{verb}"' for verb in verbs)
    yield f"  verbs: [{quoted}]"
