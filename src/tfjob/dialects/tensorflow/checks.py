"""Semantic validation of TfJobs, beyond the types of fields.

A failed job shows its first fault, so the order of the checks is part of the API.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tfjob.core.job import MAX_REPLICAS
from tfjob.core.naming import MAX_NAME_LENGTH
from tfjob.dialects.tensorflow import api, hints, validation_messages
from tfjob.dialects.tensorflow.names import Names
from tfjob.dialects.tensorflow.spec import SPECS, Entry, Spec
from tfjob.dialects.tensorflow.template import has_training_container, pod_spec
from tfjob.k8s import field
from tfjob.k8s.field import Fault

_PORTS = range(1, 65536)
_RESTART_POLICIES = ("", "OnFailure", "Never")
_TERMINATION = "spec.terminationPolicy"


def faults_of(spec: Spec, *, names: Names) -> Iterator[Fault]:
    yield from _of_termination(spec)
    if not spec.entries:
        yield field.required(SPECS, validation_messages.NO_REPLICAS, remedy=hints.REPLICAS)
    for entry in spec.entries:
        yield from _of_entry(entry)
    yield from _of_chief(spec)
    yield from _of_tensorboard(spec)
    yield from _of_duplicates(spec)
    for entry in spec.entries:
        yield from _of_numbers(entry)
    yield from _of_total(spec)
    yield from _of_chief_index(spec)
    yield from _of_runtime_id(spec)
    yield from _of_names(spec, names)
    for entry in spec.entries:
        yield from _of_restart_policy(entry)


def _of_termination(spec: Spec) -> Iterator[Fault]:
    if spec.chief.is_missing:
        rule = validation_messages.BAD_TERMINATION.format(_json(spec.termination))
        yield field.required(f"{_TERMINATION}.chief", rule, remedy=hints.TERMINATION)


def _of_entry(entry: Entry) -> Iterator[Fault]:
    if entry.type != api.PS and entry.template is None:
        rule = validation_messages.NO_TEMPLATE.format(_json(_shown(entry)))
        yield field.required(f"{entry.path}.template", rule, remedy=hints.TEMPLATE)
    if entry.type == api.MASTER and entry.count != 1:
        path, rule = f"{entry.path}.replicas", validation_messages.MANY_MASTERS
        yield field.invalid(path, entry.count, rule, remedy=hints.MASTERS)
    if entry.type not in api.TYPES:
        path, rule = (
            f"{entry.path}.tfReplicaType",
            validation_messages.BAD_TYPE.format(_plain(entry.type)),
        )
        yield field.invalid(path, entry.type, rule, remedy=hints.TYPE)
    elif entry.template is not None and not has_training_container(entry.template):
        path = f"{entry.path}.template.spec.containers"
        rule = validation_messages.NO_TRAINING_CONTAINER.format(entry.type)
        yield field.required(path, rule, remedy=hints.CONTAINER)


def _of_chief(spec: Spec) -> Iterator[Fault]:
    chief = spec.chief
    if not chief.is_missing and all(entry.type != chief.type for entry in spec.entries):
        rule = validation_messages.NO_CHIEF.format(_plain(chief.type))
        yield field.required(SPECS, rule, remedy=hints.CHIEF)


def _of_tensorboard(spec: Spec) -> Iterator[Fault]:
    if spec.tensorboard is not None and not spec.tensorboard.log_dir:
        rule, remedy = validation_messages.NO_LOG_DIR, hints.LOG_DIR
        yield field.required("spec.tensorboard.logDir", rule, remedy=remedy)


def _of_duplicates(spec: Spec) -> Iterator[Fault]:
    seen: set[str] = set()
    for entry in spec.entries:
        if entry.type in seen:
            path, rule = (
                f"{entry.path}.tfReplicaType",
                validation_messages.DUPLICATE_TYPE.format(_plain(entry.type)),
            )
            yield field.invalid(path, entry.type, rule, remedy=hints.DUPLICATE_TYPE)
        seen.add(entry.type)


def _of_numbers(entry: Entry) -> Iterator[Fault]:
    if entry.count < 0:
        path, rule = f"{entry.path}.replicas", validation_messages.NEGATIVE
        yield field.invalid(path, entry.count, rule, remedy=hints.NUMBER)
    if entry.port not in _PORTS:
        path, rule = f"{entry.path}.tfPort", validation_messages.BAD_PORT
        yield field.invalid(path, entry.port, rule, remedy=hints.PORT)


def _of_total(spec: Spec) -> Iterator[Fault]:
    total = sum(entry.count for entry in spec.entries)
    if total > MAX_REPLICAS:
        yield field.invalid(
            SPECS, total, validation_messages.MANY_REPLICAS, remedy=hints.MANY_REPLICAS
        )


def _of_chief_index(spec: Spec) -> Iterator[Fault]:
    chief = spec.chief
    counts = [entry.count for entry in spec.entries if entry.type == chief.type]
    if counts and not 0 <= chief.index < counts[0]:
        path, rule = f"{_TERMINATION}.chief.replicaIndex", validation_messages.BAD_CHIEF_INDEX
        rule = rule.format(chief.index)
        yield field.invalid(path, chief.index, rule, remedy=hints.CHIEF_INDEX)


def _of_runtime_id(spec: Spec) -> Iterator[Fault]:
    given = spec.runtime_id
    is_label = re.fullmatch(api.RUNTIME_ID_PATTERN[1:-1], given) is not None
    if given and (not is_label or len(given) > api.MAX_RUNTIME_ID_LENGTH):
        path, rule = "spec.RuntimeId", validation_messages.BAD_RUNTIME_ID
        yield field.invalid(path, given, rule, remedy=hints.RUNTIME_ID)


def _of_names(spec: Spec, names: Names) -> Iterator[Fault]:
    """If children are named after the job, its name must be valid for that."""
    prefix = names.prefix
    path = "metadata.name"
    if prefix and not ("a" <= prefix[0] <= "z"):
        yield field.invalid(path, names.job, validation_messages.NO_LETTER, remedy=hints.LETTER)
    if "." in prefix:
        yield field.invalid(path, names.job, validation_messages.DOTS, remedy=hints.DOTS)
    given = [names.replica(each.type, max(each.count - 1, 0)) for each in spec.entries]
    longest = max(len(each) for each in [*given, names.tensorboard])
    if prefix and longest > MAX_NAME_LENGTH:
        yield field.invalid(
            path, names.job, validation_messages.LONG_NAMES, remedy=hints.LONG_NAMES
        )


def _of_restart_policy(entry: Entry) -> Iterator[Fault]:
    given = pod_spec(entry.template).get("restartPolicy") or ""
    if given not in _RESTART_POLICIES:
        path, rule = (
            f"{entry.path}.template.spec.restartPolicy",
            validation_messages.BAD_RESTART_POLICY,
        )
        yield field.invalid(path, given, rule, remedy=hints.RESTART_POLICY)


def _shown(entry: Entry) -> Mapping[str, Any]:
    """An entry without a template, as it is stored."""
    return {"replicas": entry.count, "tfPort": entry.port, "tfReplicaType": entry.type}


def _json(value: object) -> str:
    """JSON in ASCII, which can always be stored; a placeholder for values without JSON form."""
    try:
        return json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return f"<{type(value).__name__}>"


def _plain(text: str) -> str:
    """The text with lone surrogates escaped, since they cannot be stored."""
    return text.encode("utf-8", "backslashreplace").decode()
