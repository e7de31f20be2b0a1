"""What a TfJob must keep to beyond the types of its values: rule by rule, in the contract's order.

The first fault is the one that a failed job shows, so the order is part of the promise.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tfjob.core.job import MAX_REPLICAS
from tfjob.core.naming import LONGEST_NAME
from tfjob.dialects.tensorflow import refusals, remedies, words
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
        yield field.required(SPECS, refusals.NO_REPLICAS, remedy=remedies.REPLICAS)
    for entry in spec.entries:
        yield from _of_entry(entry)
    yield from _of_chief(spec)
    yield from _of_tensorboard(spec)
    yield from _of_twins(spec)
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
        rule = refusals.BAD_TERMINATION.format(_json(spec.termination))
        yield field.required(f"{_TERMINATION}.chief", rule, remedy=remedies.TERMINATION)


def _of_entry(entry: Entry) -> Iterator[Fault]:
    if entry.type != words.PS and entry.template is None:
        rule = refusals.NO_TEMPLATE.format(_json(_shown(entry)))
        yield field.required(f"{entry.path}.template", rule, remedy=remedies.TEMPLATE)
    if entry.type == words.MASTER and entry.count != 1:
        path, rule = f"{entry.path}.replicas", refusals.MANY_MASTERS
        yield field.invalid(path, entry.count, rule, remedy=remedies.MASTERS)
    if entry.type not in words.TYPES:
        path, rule = f"{entry.path}.tfReplicaType", refusals.BAD_TYPE.format(_plain(entry.type))
        yield field.invalid(path, entry.type, rule, remedy=remedies.TYPE)
    elif entry.template is not None and not has_training_container(entry.template):
        path = f"{entry.path}.template.spec.containers"
        rule = refusals.NO_TRAINING_CONTAINER.format(entry.type)
        yield field.required(path, rule, remedy=remedies.CONTAINER)


def _of_chief(spec: Spec) -> Iterator[Fault]:
    chief = spec.chief
    if not chief.is_missing and all(entry.type != chief.type for entry in spec.entries):
        rule = refusals.NO_CHIEF.format(_plain(chief.type))
        yield field.required(SPECS, rule, remedy=remedies.CHIEF)


def _of_tensorboard(spec: Spec) -> Iterator[Fault]:
    if spec.tensorboard is not None and not spec.tensorboard.log_dir:
        rule, remedy = refusals.NO_LOG_DIR, remedies.LOG_DIR
        yield field.required("spec.tensorboard.logDir", rule, remedy=remedy)


def _of_twins(spec: Spec) -> Iterator[Fault]:
    seen: set[str] = set()
    for entry in spec.entries:
        if entry.type in seen:
            path, rule = f"{entry.path}.tfReplicaType", refusals.TWINS.format(_plain(entry.type))
            yield field.invalid(path, entry.type, rule, remedy=remedies.TWINS)
        seen.add(entry.type)


def _of_numbers(entry: Entry) -> Iterator[Fault]:
    if entry.count < 0:
        path, rule = f"{entry.path}.replicas", refusals.NEGATIVE
        yield field.invalid(path, entry.count, rule, remedy=remedies.NUMBER)
    if entry.port not in _PORTS:
        path, rule = f"{entry.path}.tfPort", refusals.BAD_PORT
        yield field.invalid(path, entry.port, rule, remedy=remedies.PORT)


def _of_total(spec: Spec) -> Iterator[Fault]:
    total = sum(entry.count for entry in spec.entries)
    if total > MAX_REPLICAS:
        yield field.invalid(SPECS, total, refusals.MANY_REPLICAS, remedy=remedies.MANY_REPLICAS)


def _of_chief_index(spec: Spec) -> Iterator[Fault]:
    chief = spec.chief
    counts = [entry.count for entry in spec.entries if entry.type == chief.type]
    if counts and not 0 <= chief.index < counts[0]:
        path, rule = f"{_TERMINATION}.chief.replicaIndex", refusals.BAD_CHIEF_INDEX
        rule = rule.format(chief.index)
        yield field.invalid(path, chief.index, rule, remedy=remedies.CHIEF_INDEX)


def _of_runtime_id(spec: Spec) -> Iterator[Fault]:
    given = spec.runtime_id
    is_label = re.fullmatch(words.RUNTIME_ID_PATTERN[1:-1], given) is not None
    if given and (not is_label or len(given) > words.LONGEST_RUNTIME_ID):
        path, rule = "spec.RuntimeId", refusals.BAD_RUNTIME_ID
        yield field.invalid(path, given, rule, remedy=remedies.RUNTIME_ID)


def _of_names(spec: Spec, names: Names) -> Iterator[Fault]:
    """Where children are named after the job, its name must be fit for that."""
    prefix = names.prefix
    path = "metadata.name"
    if prefix and not ("a" <= prefix[0] <= "z"):
        yield field.invalid(path, names.job, refusals.NO_LETTER, remedy=remedies.LETTER)
    if "." in prefix:
        yield field.invalid(path, names.job, refusals.DOTS, remedy=remedies.DOTS)
    given = [names.replica(each.type, max(each.count - 1, 0)) for each in spec.entries]
    longest = max(len(each) for each in [*given, names.tensorboard])
    if prefix and longest > LONGEST_NAME:
        yield field.invalid(path, names.job, refusals.LONG_NAMES, remedy=remedies.LONG_NAMES)


def _of_restart_policy(entry: Entry) -> Iterator[Fault]:
    given = pod_spec(entry.template).get("restartPolicy") or ""
    if given not in _RESTART_POLICIES:
        path, rule = f"{entry.path}.template.spec.restartPolicy", refusals.BAD_RESTART_POLICY
        yield field.invalid(path, given, rule, remedy=remedies.RESTART_POLICY)


def _shown(entry: Entry) -> Mapping[str, Any]:
    """An entry without a template, as it would be stored."""
    return {"replicas": entry.count, "tfPort": entry.port, "tfReplicaType": entry.type}


def _json(value: object) -> str:
    """Plain ASCII: these texts are stored. Not every value of a user's has such a form."""
    try:
        return json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return f"<{type(value).__name__}>"


def _plain(text: str) -> str:
    """A user's text that can be stored: a lone surrogate cannot."""
    return text.encode("utf-8", "backslashreplace").decode()
