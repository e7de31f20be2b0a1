"""CEL validation rules for these jobs, which the API server evaluates; there is no webhook.

Rules that compare with the old object make the spec immutable, except for the two fields that a
user may change at any time. The offline check and the operator evaluate the same rules; reports
say how they word a violation.
"""

from tfjob.core.job import TRAINING_CONTAINER
from tfjob.dialects.naming import MAX_NAME_LENGTH, remedy_for_name
from tfjob.dialects.schema import (
    GIVEN_NAME,
    RESERVED,
    Report,
    Schema,
    has_path,
    needs_text,
    rule,
)
from tfjob.dialects.tensorstack import api, validation_messages
from tfjob.k8s.field import FaultKind

_SPECS = "self.spec.replicaSpecs"
_CONTAINERS = ".template.spec.containers"
_MAX_NAME = MAX_NAME_LENGTH - len(validation_messages.MAX_SUFFIX)
_IMMUTABLE_PARTS = ("replicaSpecs", "runPolicy", "scheduler", "runMode.debug")
_IMMUTABLE_BOARD = ("image", "trainingLogFilesets", "logDir", "scheduler", "resources")


def of_object() -> list[Schema]:
    """Rules that need the object's name, which is only accessible at the root."""
    name = "self.metadata.name"
    last = f"{_SPECS}.map(r, {_count('r')}).max() - 1"
    digits = f"(has(self.spec) && size({_SPECS}) > 0 ? size(string({last})) : 1)"
    longest = f"{_MAX_NAME} - {RESERVED} - {digits}"
    return [
        rule(
            f"oldSelf.hasValue() || {name}.matches('^{api.LABEL}$')",
            validation_messages.BAD_NAME,
            at=".metadata.name",
            report=Report(value=GIVEN_NAME, argument=longest, remedy=remedy_for_name),
        ),
        rule(
            f"oldSelf.hasValue() || size({name}) + {digits} <= {_MAX_NAME}",
            validation_messages.LONG_NAME.format(_MAX_NAME - 1),
            message_expression=f"'{validation_messages.LONG_NAME.replace('{}', '%d')}'"
            f".format([{_MAX_NAME} - {digits}])",
            at=".metadata.name",
            report=Report(
                value=GIVEN_NAME,
                argument=longest,
                detail=validation_messages.LONG_NAME,
                remedy=validation_messages.LONG_NAME_REMEDY,
            ),
        ),
    ]


def of_spec() -> list[Schema]:
    """Run modes must refer to types of the job, and most of the spec is immutable."""
    return [
        _names_known_types("debug", "replicaSpecs"),
        _names_known_types("pause", "resumeSpecs"),
        *(_is_immutable(part) for part in _IMMUTABLE_PARTS),
        _is_immutable("runMode.pause.resumeSpecs"),
        _board_is_immutable(),
    ]


def of_replicas() -> list[Schema]:
    """Rules on the list of replicas as a whole."""
    is_leading = f"r.type == '{api.CHIEF}' || (r.type == '{api.WORKER}' && {_count('r')} > 0)"
    total = f"self.map(r, {_count('r')}).sum()"
    return [
        _is_unique("self", "type", remedy=validation_messages.DUPLICATE_TYPE_REMEDY),
        rule(
            f"!self.exists(r, {_is_odd_chief('r')})",
            validation_messages.ONE_CHIEF,
            report=Report(
                entries="self",
                is_bad=_is_odd_chief("e"),
                at="[{}].replicas",
                value="e.replicas",
                remedy=validation_messages.ONE_CHIEF_REMEDY,
            ),
        ),
        rule(
            f"self.exists(r, {is_leading})",
            validation_messages.NO_MASTER,
            kind=FaultKind.REQUIRED,
            report=Report(remedy=validation_messages.NO_MASTER_REMEDY),
        ),
        rule(
            f"{total} <= {validation_messages.MAX_REPLICAS}",
            validation_messages.MANY_REPLICAS,
            report=Report(value=total, remedy=validation_messages.MANY_REPLICAS_REMEDY),
        ),
    ]


def of_modes() -> list[Schema]:
    """Rules on the entries of one run mode."""
    return [_is_unique("self", "type", remedy=validation_messages.TWO_MODES_REMEDY)]


def of_replica() -> list[Schema]:
    """Rules on one replica type."""
    containers = "self.template.spec.containers"
    is_there = f"has(self.template) && has(self.template.spec) && has({containers})"
    is_training = f"has(c.name) && c.name == '{TRAINING_CONTAINER}'"
    return [
        rule(
            f"{is_there} && {containers}.exists(c, {is_training})",
            validation_messages.NO_CONTAINERS,
            at=_CONTAINERS,
            kind=FaultKind.REQUIRED,
            report=Report(remedy=validation_messages.NO_CONTAINERS_REMEDY),
        )
    ]


def of_container() -> list[Schema]:
    return [
        needs_text(
            "image", validation_messages.NO_IMAGE, remedy=validation_messages.NO_IMAGE_REMEDY
        )
    ]


def of_board() -> list[Schema]:
    return [
        needs_text(
            "image",
            validation_messages.NO_IMAGE,
            remedy=validation_messages.NO_IMAGE_OF_BOARD_REMEDY,
        )
    ]


def of_clean_up() -> list[Schema]:
    allowed = "self.lowerAscii() in ['none', 'all', 'unfinished']"
    report = Report(
        kind=FaultKind.UNSUPPORTED,
        detail='supported values: "All", "None", "Unfinished"',
        remedy=validation_messages.CLEAN_UP_REMEDY,
    )
    return [rule(allowed, validation_messages.CLEAN_UP, report=report)]


def of_fileset() -> list[Schema]:
    is_fileset, report = (
        f"self.matches('^{api.FILESET}$')",
        Report(remedy=validation_messages.FILESET_REMEDY),
    )
    return [rule(is_fileset, validation_messages.FILESET, report=report)]


def of_scheduler() -> list[Schema]:
    return [
        needs_text(
            "queue", validation_messages.NO_QUEUE, remedy=validation_messages.NO_QUEUE_REMEDY
        )
    ]


def _is_odd_chief(replica: str) -> str:
    return f"{replica}.type == '{api.CHIEF}' && {_count(replica)} != 1"


def _count(replica: str) -> str:
    return f"(has({replica}.replicas) ? {replica}.replicas : 1)"


def _is_unique(entries: str, key: str, *, remedy: str) -> Schema:
    """No two entries may have the same value of `key`."""
    is_twice = f"{entries}.exists_one(o, o.{key} == r.{key})"
    first = f"{entries}.filter(r, !{is_twice})[0].{key}"
    return rule(
        f"{entries}.all(r, {is_twice})",
        validation_messages.SAME_TYPE,
        message_expression=f"'{validation_messages.DUPLICATE_TYPE.replace('{}', '%s')}'"
        f".format([{first}])",
        report=Report(
            entries=entries,
            is_bad=f"before.exists(o, o.{key} == e.{key})",
            at=f"[{{}}].{key}",
            value=f"e.{key}",
            kind=FaultKind.DUPLICATE,
            detail="",
            remedy=remedy,
        ),
    )


def _names_known_types(mode: str, field: str) -> Schema:
    path = f"runMode.{mode}.{field}"
    entries = f"self.{path}"
    is_known = "self.replicaSpecs.exists(r, r.type == e.type)"
    unknown = f"{entries}.filter(e, !{is_known})[0].type"
    return rule(
        f"!({has_path('self', path)}) || {entries}.all(e, {is_known})",
        validation_messages.ABSENT_TYPE.format("of an entry"),
        message_expression=f"'{validation_messages.ABSENT_TYPE.replace('{}', '%s')}'"
        f".format([{unknown}])",
        at=f".{path}",
        report=Report(
            entries=entries,
            is_bad=f"!{is_known}",
            at="[{}].type",
            value="e.type",
            argument="e.type == '' ? '\"\"' : e.type",
            detail=validation_messages.ABSENT_TYPE,
            remedy=validation_messages.ABSENT_TYPE_REMEDY,
        ),
    )


def _is_immutable(path: str) -> Schema:
    """A rule on the part itself would not apply when it is added or removed."""
    at = path if path.count(".") == 0 else path.partition(".")[0]
    return rule(_is_same(path), f"{path} {validation_messages.IMMUTABLE}", at=f".{at}")


def _board_is_immutable() -> Schema:
    board = "tensorboardSpec"
    parts = " && ".join(_is_same(f"{board}.{each}") for each in _IMMUTABLE_BOARD)
    is_there = f"has(self.{board}) == has(oldSelf.{board})"
    return rule(
        f"{is_there} && {parts}", f"{board} {validation_messages.IMMUTABLE}", at=f".{board}"
    )


def _is_same(path: str) -> str:
    new, old = has_path("self", path), has_path("oldSelf", path)
    return f"({new} ? {old} && self.{path} == oldSelf.{path} : !({old}))"
