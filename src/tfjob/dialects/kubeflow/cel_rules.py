"""CEL validation rules for TFJobs, which the API server evaluates; there is no webhook.

An object stored before a rule existed can still be updated and deleted as long as the part that
violates the rule does not change. Where a rule covers one part only, API servers do this
themselves (ratcheting); the other rules compare with the old object. Rules iterate over the new
object only, because the cost estimate bounds the size of no other. The offline check and the
operator evaluate the same rules; reports say how they word a violation.
"""

from tfjob.core.job import MAX_REPLICAS, TRAINING_CONTAINER
from tfjob.dialects.kubeflow import api, validation_messages
from tfjob.dialects.naming import MAX_NAME_LENGTH, remedy_for_name
from tfjob.dialects.schema import GIVEN_NAME, RESERVED, Report, Schema, needs_text, rule
from tfjob.k8s.field import FaultKind

_TYPES = [kind.lower() for kind in api.TYPES]
_LEADERS = [kind.lower() for kind in api.DECISIVE_TYPES]
_SUPPORTED = ", ".join(f'"{kind}"' for kind in sorted(api.TYPES))
_CONTAINERS = ".template.spec.containers"
_OLD = "oldSelf.value()"
_NAME_FIRST, _UNKNOWN_LATER, _TOTAL_LATER, _LENGTH_LAST = -1, 1, 2, 3


def of_object() -> list[Schema]:
    """Rules that need the object's name, which is only accessible at the root."""
    return [_spec_is_present(), _name_is_label(), _child_names_fit()]


def of_spec() -> list[Schema]:
    """managedBy is immutable. A rule further down would not apply when it is added or removed."""
    was_set = "has(oldSelf.runPolicy) && has(oldSelf.runPolicy.managedBy)"
    is_same = "oldSelf.runPolicy.managedBy == self.runPolicy.managedBy"
    return [
        rule(
            "has(self.runPolicy) && has(self.runPolicy.managedBy)"
            f" ? {was_set} && {is_same} : !({was_set})",
            validation_messages.IMMUTABLE,
            at=".runPolicy.managedBy",
        )
    ]


def of_queue() -> list[Schema]:
    return [rule("self == oldSelf", validation_messages.QUEUE_IMMUTABLE)]


def of_types() -> list[Schema]:
    """Rules on the map of replica types as a whole."""
    return [
        rule(
            "size(self) > 0",
            validation_messages.REQUIRED,
            kind=FaultKind.REQUIRED,
            report=Report(remedy=validation_messages.NO_TYPES_REMEDY),
        ),
        rule(
            "self.all(k, self[k] != null)",
            validation_messages.NO_CONTAINERS,
            message_expression=_message_expression(
                f"{{}} {validation_messages.NO_CONTAINERS}", "self.filter(k, self[k] == null)[0]"
            ),
            kind=FaultKind.REQUIRED,
        ),
        _types_are_known(),
        _types_are_unique(),
        _one_type_leads(),
        _leader_is_one(),
        _total_is_bounded(),
    ]


def of_replica() -> list[Schema]:
    """Rules on one replica type."""
    containers = "self.template.spec.containers"
    is_there = f"has(self.template) && has(self.template.spec) && has({containers})"
    is_training = f"has(c.name) && c.name == '{TRAINING_CONTAINER}'"
    return [
        rule(
            f"{is_there} && size({containers}) > 0",
            validation_messages.NO_CONTAINERS,
            at=_CONTAINERS,
            kind=FaultKind.REQUIRED,
            report=Report(remedy=validation_messages.NO_CONTAINERS_REMEDY),
        ),
        rule(
            f"{is_there} && {containers}.exists(c, {is_training})",
            validation_messages.NO_TRAINING_CONTAINER,
            at=_CONTAINERS,
            kind=FaultKind.REQUIRED,
            report=Report(remedy=validation_messages.remedy_for_containers),
        ),
    ]


def of_container() -> list[Schema]:
    return [
        needs_text(
            "image", validation_messages.REQUIRED, remedy=validation_messages.NO_IMAGE_REMEDY
        )
    ]


def _spec_is_present() -> Schema:
    return rule(
        f"has(self.spec) || (oldSelf.hasValue() && !has({_OLD}.spec))",
        validation_messages.REQUIRED,
        at=".spec.tfReplicaSpecs",
        kind=FaultKind.REQUIRED,
        report=Report(remedy=validation_messages.NO_TYPES_REMEDY),
    )


def _name_is_label() -> Schema:
    """Checked on creation only, since names never change. The message may list both problems."""
    name = "self.metadata.name"
    is_label = f"{name}.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"
    is_short = f"size({name}) <= {MAX_NAME_LENGTH}"
    no_label, too_long = (
        _quoted(validation_messages.NO_LABEL),
        _quoted(validation_messages.LONG_LABEL),
    )
    both = _quoted(f"{validation_messages.LONG_LABEL},{validation_messages.NO_LABEL}")
    return rule(
        f"oldSelf.hasValue() || ({is_label} && {is_short})",
        validation_messages.BAD_NAME.format(validation_messages.NO_LABEL),
        message_expression=_message_expression(
            validation_messages.BAD_NAME,
            f"{is_short} ? {no_label} : {is_label} ? {too_long} : {both}",
        ),
        at=".metadata.name",
        report=Report(
            value=GIVEN_NAME,
            argument=_longest_name(),
            remedy=remedy_for_name,
            order=_NAME_FIRST,
        ),
    )


def _child_names_fit() -> Schema:
    """The message contains the limit for the replica type with the longest child names."""
    name = "size(self.metadata.name)"
    new, old = "self.spec.tfReplicaSpecs", f"{_OLD}.spec.tfReplicaSpecs"
    fits = f"{name} + {_tail(new)} <= {MAX_NAME_LENGTH}"
    was_there = f"oldSelf.hasValue() && has({_OLD}.spec) && has({old})"
    was_so = f"{was_there} && k in {old} && {_count(new)} <= {_count(old)}"
    is_longest = f"{new}.all(j, {_tail(new, 'j')} <= {_tail(new)})"
    return rule(
        f"!has(self.spec) || !has({new}) || {name} > {MAX_NAME_LENGTH}"
        f" || {new}.all(k, {fits} || ({was_so}))",
        message_expression=_message_expression(
            validation_messages.LONG_NAME.replace("{}", "%d"),
            f"{MAX_NAME_LENGTH} - {new}.map(k, {is_longest}, {_tail(new)})[0]",
        ),
        at=".metadata.name",
        report=Report(
            value=GIVEN_NAME,
            argument=_longest_name(),
            detail=validation_messages.LONG_NAME,
            remedy=validation_messages.LONG_NAME_REMEDY,
            order=_LENGTH_LAST,
        ),
    )


def _longest_name() -> str:
    """CEL: how long a name may be so that the names of all children are valid."""
    specs = "self.spec.tfReplicaSpecs"
    tails = f"{specs}.map(k, {_tail(specs)})"
    has_any = f"has(self.spec) && has({specs}) && size({specs}) > 0"
    return f"{MAX_NAME_LENGTH} - {RESERVED} - ({has_any} ? {tails}.max() : 0)"


def _types_are_known() -> Schema:
    return rule(
        f"self.all(k, {_is_among(_TYPES)} || (oldSelf.hasValue() && k in {_OLD}))",
        f"supported values: {_SUPPORTED}",
        message_expression=_message_expression(
            f'Unsupported value: "{{}}": supported values: {_SUPPORTED}',
            f"self.filter(k, !({_is_among(_TYPES)}))[0]",
        ),
        report=Report(
            entries="self",
            is_bad=f"!({_is_among(_TYPES)})",
            value="k",
            kind=FaultKind.UNSUPPORTED,
            detail=f"supported values: {_SUPPORTED}",
            remedy=validation_messages.remedy_for_type,
            order=_UNKNOWN_LATER,
            hides_entries=True,
        ),
    )


def _types_are_unique() -> Schema:
    """Keys must differ in more than case."""
    has_twin = "self.exists(j, j < k && j.lowerAscii() == k.lowerAscii())"
    was_so = f"self.all(j, j.lowerAscii() != k.lowerAscii() || j in {_OLD})"
    return rule(
        f"self.all(k, !{has_twin} || (oldSelf.hasValue() && {was_so}))",
        "Duplicate value",
        message_expression=_message_expression(
            'Duplicate value: "{}"', f"self.filter(k, {has_twin})[0]"
        ),
        report=Report(
            entries="self",
            is_bad=has_twin,
            value="k",
            kind=FaultKind.DUPLICATE,
            detail="",
            remedy=validation_messages.DUPLICATE_TYPE_REMEDY,
            order=_UNKNOWN_LATER,
        ),
    )


def _one_type_leads() -> Schema:
    chief, master = (f"self.exists(k, k.lowerAscii() == '{each}')" for each in _LEADERS)
    was_so = f"self.all(k, !({_is_among(_LEADERS)}) || k in {_OLD})"
    return rule(
        f"!{chief} || !{master} || (oldSelf.hasValue() && {was_so})",
        validation_messages.TWO_LEADERS,
        kind=FaultKind.FORBIDDEN,
        report=Report(remedy=validation_messages.TWO_LEADERS_REMEDY),
    )


def _leader_is_one() -> Schema:
    is_many = f"{_is_among(_LEADERS)} && {_count('self')} > 1"
    was_so = f"k in {_OLD} && {_count('self')} == {_count(_OLD)}"
    return rule(
        f"self.all(k, !({is_many}) || (oldSelf.hasValue() && {was_so}))",
        validation_messages.MANY_LEADERS.format(" or ".join(api.DECISIVE_TYPES)),
        message_expression=_message_expression(
            validation_messages.MANY_LEADERS, f"self.filter(k, {is_many})[0]"
        ),
        report=Report(
            entries="self",
            is_bad=is_many,
            at="[{}].replicas",
            value="e.replicas",
            argument="k",
            detail=validation_messages.MANY_LEADERS,
            remedy=validation_messages.MANY_LEADERS_REMEDY,
        ),
    )


def _total_is_bounded() -> Schema:
    counts = ", ".join(_count_of(kind) for kind in _TYPES)
    was_so = f"self.all(k, k in {_OLD} && {_count('self')} <= {_count(_OLD)})"
    report = Report(
        value=f"[{counts}].sum()",
        remedy=validation_messages.MANY_REPLICAS_REMEDY,
        order=_TOTAL_LATER,
    )
    return rule(
        f"[{counts}].sum() <= {MAX_REPLICAS} || (oldSelf.hasValue() && {was_so})",
        validation_messages.MANY_REPLICAS,
        report=report,
    )


def _is_among(kinds: list[str], key: str = "k") -> str:
    return f"{key}.lowerAscii() in {kinds}"


def _count(specs: str, key: str = "k") -> str:
    """CEL: the number of replicas of a type. Another rule rejects null."""
    entry = f"{specs}[{key}]"
    return f"({entry} == null || !has({entry}.replicas) ? 1 : {entry}.replicas)"


def _count_of(kind: str) -> str:
    """CEL: the number of replicas of a type, whatever the case of its key."""
    is_kind = f"k.lowerAscii() == '{kind}'"
    found = f"self.map(k, {is_kind}, {_count('self')})[0]"
    return f"(self.exists(k, {is_kind}) ? {found} : 0)"


def _tail(specs: str, key: str = "k") -> str:
    """CEL: the length of `-{type}-{index}` in the longest child name of a type."""
    count = _count(specs, key)
    length = f"size({key}) + size(string({count} - 1)) + 2"
    return f"({_is_among(_TYPES, key)} && {count} > 0 ? {length} : 0)"


def _message_expression(sentence: str, value: str) -> str:
    """A message as a CEL expression, with a computed value in place of `{}`."""
    return f"{_quoted(sentence.replace('{}', '%s'))}.format([{value}])"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
