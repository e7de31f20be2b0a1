"""CEL validation rules for TfJobs, which the API server evaluates; there is no webhook.

A rule sees a key only in its usual spelling. A key that seems absent may be present in another
case, so no rule rejects an absent key. The offline check and the operator evaluate the same rules
after they have restored the usual spelling and set defaults; reports say how they word a violation
and in which order.
"""

from tfjob.core.job import TRAINING_CONTAINER
from tfjob.dialects.schema import Report, Schema, has_path, rule
from tfjob.dialects.tensorflow import api, validation_messages
from tfjob.k8s.field import FaultKind

OF_ENTRY, OF_CHIEF, OF_BOARD, OF_DUPLICATES, OF_NUMBERS, OF_INDEX, OF_ID, OF_POLICY = range(8)
"""The order of faults. A failed job shows its first fault, so it is part of the API."""
_TYPE = "self.tfReplicaType"
_MAX_ID_LENGTH = api.MAX_RUNTIME_ID_LENGTH


def of_spec() -> list[Schema]:
    return [_is_immutable(), _chief_is_present(), _chief_is_in_range()]


def of_runtime_id() -> list[Schema]:
    """Empty is the same as absent."""
    is_label = f"self.matches('{api.RUNTIME_ID_PATTERN}') && size(self) <= {_MAX_ID_LENGTH}"
    report = Report(remedy=validation_messages.BAD_RUNTIME_ID_REMEDY, order=OF_ID)
    return [rule(f"self == '' || ({is_label})", validation_messages.BAD_RUNTIME_ID, report=report)]


def of_entries() -> list[Schema]:
    """Rules on the list of replica types as a whole."""
    is_twin = f"self.filter(e, {_is_type('e', 't')}).size() > 1"
    kinds = list(api.TYPES)
    return [
        rule(
            f"{kinds}.all(t, !({is_twin}))",
            validation_messages.DUPLICATE_TYPE.format("one type"),
            message_expression=f"{_quoted(validation_messages.DUPLICATE_TYPE, '%s')}"
            f".format([{kinds}.filter(t, {is_twin})[0]])",
            report=Report(
                entries="self",
                is_bad=f"before.exists(o, {_is_type('o', 'e.tfReplicaType')})",
                at="[{}].tfReplicaType",
                value="e.tfReplicaType",
                argument="e.tfReplicaType",
                detail=validation_messages.DUPLICATE_TYPE,
                remedy=validation_messages.DUPLICATE_TYPE_REMEDY,
                order=OF_DUPLICATES,
            ),
        )
    ]


def of_entry() -> list[Schema]:
    """Rules on one replica type."""
    is_one = f"!has(self.replicas) || self.replicas == 1 || !{_is_type('self', _text(api.MASTER))}"
    types = f"!has({_TYPE}) || {_TYPE} == '' || {_TYPE} in {list(api.TYPES)}"
    containers = "self.template.spec.containers"
    is_judged = f"has({_TYPE}) && {_TYPE} in {[api.MASTER, api.WORKER]} && has(self.template)"
    is_there = f"has(self.template.spec) && has({containers})"
    trains = f"{containers}.exists(c, has(c.name) && c.name == '{TRAINING_CONTAINER}')"
    return [
        rule(
            is_one,
            validation_messages.MANY_MASTERS,
            at=".replicas",
            report=Report(remedy=validation_messages.MANY_MASTERS_REMEDY, order=OF_ENTRY),
        ),
        rule(
            types,
            validation_messages.BAD_TYPE.format("unknown"),
            message_expression=f"{_quoted(validation_messages.BAD_TYPE, '%s')}.format([{_TYPE}])",
            at=".tfReplicaType",
            report=Report(remedy=validation_messages.BAD_TYPE_REMEDY, order=OF_ENTRY),
        ),
        rule(
            f"!({is_judged}) || ({is_there} && {trains})",
            validation_messages.NO_TRAINING_CONTAINER.format("MASTER or WORKER"),
            message_expression=f"{_quoted(validation_messages.NO_TRAINING_CONTAINER, '%s')}"
            f".format([{_TYPE}])",
            at=".template",
            report=Report(
                at=".spec.containers",
                kind=FaultKind.REQUIRED,
                remedy=validation_messages.NO_TRAINING_CONTAINER_REMEDY,
                order=OF_ENTRY,
            ),
        ),
        rule(
            "!has(self.replicas) || self.replicas >= 0",
            validation_messages.NEGATIVE,
            at=".replicas",
            report=Report(remedy=validation_messages.NEGATIVE_REMEDY, order=OF_NUMBERS),
        ),
        rule(
            "!has(self.tfPort) || (self.tfPort >= 1 && self.tfPort <= 65535)",
            validation_messages.BAD_PORT,
            at=".tfPort",
            report=Report(remedy=validation_messages.BAD_PORT_REMEDY, order=OF_NUMBERS),
        ),
    ]


def of_restart_policy() -> list[Schema]:
    allowed = "self in ['', 'OnFailure', 'Never']"
    report = Report(remedy=validation_messages.BAD_RESTART_POLICY_REMEDY, order=OF_POLICY)
    return [rule(allowed, validation_messages.BAD_RESTART_POLICY, report=report)]


def of_log_dir() -> list[Schema]:
    report = Report(
        kind=FaultKind.REQUIRED, remedy=validation_messages.NO_LOG_DIR_REMEDY, order=OF_BOARD
    )
    return [rule("self != ''", validation_messages.NO_LOG_DIR, report=report)]


def _is_immutable() -> Schema:
    has_none = "!has(oldSelf.RuntimeId) || oldSelf.RuntimeId == ''"
    return rule(
        f"{has_none} || self == oldSelf", validation_messages.IMMUTABLE, kind=FaultKind.FORBIDDEN
    )


def _chief_is_present() -> Schema:
    """Applies only if every entry has its type under the usual key."""
    chief = "self.terminationPolicy.chief.replicaName"
    is_named = has_path("self", "terminationPolicy.chief.replicaName")
    may_be = f"!has(e.tfReplicaType) || e.tfReplicaType == {chief}"
    return rule(
        f"!({is_named}) || {chief} == '' || !has(self.replicaSpecs)"
        f" || self.replicaSpecs.exists(e, {may_be})",
        validation_messages.NO_CHIEF.format("terminationPolicy"),
        message_expression=f"{_quoted(validation_messages.NO_CHIEF, '%s')}.format([{chief}])",
        at=".replicaSpecs",
        report=Report(
            kind=FaultKind.REQUIRED, remedy=validation_messages.NO_CHIEF_REMEDY, order=OF_CHIEF
        ),
    )


def _chief_is_in_range() -> Schema:
    """Applies only to entries of the chief's type with a known number of replicas."""
    chief = "self.terminationPolicy.chief"
    is_given = has_path("self", "terminationPolicy.chief.replicaIndex")
    is_short = (
        f"has({chief}.replicaName) && {_is_type('e', f'{chief}.replicaName')}"
        f" && has(e.replicas) && e.replicas <= {chief}.replicaIndex"
    )
    return rule(
        f"!({is_given}) || ({chief}.replicaIndex >= 0"
        f" && (!has(self.replicaSpecs) || !self.replicaSpecs.exists(e, {is_short})))",
        validation_messages.BAD_CHIEF_INDEX.format("of the job"),
        message_expression=f"{_quoted(validation_messages.BAD_CHIEF_INDEX, '%d')}"
        f".format([{chief}.replicaIndex])",
        at=".terminationPolicy.chief.replicaIndex",
        report=Report(remedy=validation_messages.BAD_CHIEF_INDEX_REMEDY, order=OF_INDEX),
    )


def _is_type(entry: str, kind: str) -> str:
    return f"(has({entry}.tfReplicaType) && {entry}.tfReplicaType == {kind})"


def _text(text: str) -> str:
    return f"'{text}'"


def _quoted(sentence: str, value: str) -> str:
    """A message as a CEL string, with a format directive in place of `{}`."""
    return _text(sentence.format(value).replace("\\", "\\\\").replace("'", "\\'"))
