"""CEL validation rules for TfJobs, which the API server evaluates; there is no webhook.

A rule sees a key only in its usual spelling. A key that seems absent may be present in another
case, so no rule rejects an absent key.
"""

from tfjob.core.job import TRAINING_CONTAINER
from tfjob.dialects.schema import Schema, has_path, rule
from tfjob.dialects.tensorflow import api, validation_messages
from tfjob.k8s.field import FaultKind

_TYPE = "self.tfReplicaType"
_MAX_ID_LENGTH = api.MAX_RUNTIME_ID_LENGTH


def of_spec() -> list[Schema]:
    return [_is_immutable(), _chief_is_present(), _chief_is_in_range()]


def of_runtime_id() -> list[Schema]:
    """Empty is the same as absent."""
    is_label = f"self.matches('{api.RUNTIME_ID_PATTERN}') && size(self) <= {_MAX_ID_LENGTH}"
    return [rule(f"self == '' || ({is_label})", validation_messages.BAD_RUNTIME_ID)]


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
        rule(is_one, validation_messages.MANY_MASTERS, at=".replicas"),
        rule(
            types,
            validation_messages.BAD_TYPE.format("unknown"),
            message_expression=f"{_quoted(validation_messages.BAD_TYPE, '%s')}.format([{_TYPE}])",
            at=".tfReplicaType",
        ),
        rule(
            f"!({is_judged}) || ({is_there} && {trains})",
            validation_messages.NO_TRAINING_CONTAINER.format("MASTER or WORKER"),
            message_expression=f"{_quoted(validation_messages.NO_TRAINING_CONTAINER, '%s')}"
            f".format([{_TYPE}])",
            at=".template",
        ),
        rule(
            "!has(self.replicas) || self.replicas >= 0",
            validation_messages.NEGATIVE,
            at=".replicas",
        ),
        rule(
            "!has(self.tfPort) || (self.tfPort >= 1 && self.tfPort <= 65535)",
            validation_messages.BAD_PORT,
            at=".tfPort",
        ),
    ]


def of_restart_policy() -> list[Schema]:
    return [rule("self in ['', 'OnFailure', 'Never']", validation_messages.BAD_RESTART_POLICY)]


def of_log_dir() -> list[Schema]:
    return [rule("self != ''", validation_messages.NO_LOG_DIR)]


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
    )


def _is_type(entry: str, kind: str) -> str:
    return f"(has({entry}.tfReplicaType) && {entry}.tfReplicaType == {kind})"


def _text(text: str) -> str:
    return f"'{text}'"


def _quoted(sentence: str, value: str) -> str:
    """A message as a CEL string, with a format directive in place of `{}`."""
    return _text(sentence.format(value).replace("\\", "\\\\").replace("'", "\\'"))
