"""The log of decisions: one line per create and delete, with the rule that caused it.

Deletes and restarts are logged at level info. First creates are many, so they are debug lines.
"""

import logging
from typing import Final

from tfjob.core.job import Owner
from tfjob.core.plan import RESTART_RULES, Create, Delete

_log: Final = logging.getLogger(__name__)


def log_create(owner: Owner, create: Create, *, uid: str) -> None:
    level = logging.INFO if create.rule in RESTART_RULES else logging.DEBUG
    if _log.isEnabledFor(level):
        _log.log(level, "child created", extra=_fields(owner, create, uid=uid))


def log_delete(owner: Owner, delete: Delete) -> None:
    _log.info("child deleted", extra=_fields(owner, delete, uid=delete.uid))


def _fields(owner: Owner, decision: Create | Delete, *, uid: str) -> dict[str, str]:
    return {
        "namespace": owner.namespace,
        "job": owner.name,
        "kind": str(decision.kind),
        "child": decision.name,
        "uid": uid,
        "rule": str(decision.rule),
    }
