"""Label selectors and field selectors: parsed from text or objects, matched, rendered.

All requirements of a selector must hold. Bad syntax is a SelectorError with kube-apiserver's
message.
"""

import enum
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from tfjob.k8s import field
from tfjob.k8s.names import label_key_problems, label_value_problems

_TOKEN = re.compile(r"==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+")
_SYMBOLS = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">"})
_END = ""
_LARGEST_INTEGER = 2**63 - 1


class SelectorError(ValueError):
    """A selector that cannot be parsed."""


class Operator(enum.StrEnum):
    """The operator of a requirement."""

    EQUALS = "="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER = ">"
    LESS = "<"


_UNARY = frozenset({Operator.EXISTS, Operator.DOES_NOT_EXIST})
_SETS = frozenset({Operator.IN, Operator.NOT_IN})
_ORDERS = frozenset({Operator.GREATER, Operator.LESS})
_IN_TEXT = {each.value: each for each in Operator if each not in _UNARY} | {"==": Operator.EQUALS}
_IN_OBJECT = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


class Requirement(msgspec.Struct, frozen=True):
    """One condition on one label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case Operator.EQUALS | Operator.IN:
                return value in self.values
            case Operator.NOT_EQUALS | Operator.NOT_IN:
                return value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
        number, limit = _integer(value), _integer(self.values[0])
        if number is None or limit is None:
            return False
        return number > limit if self.operator is Operator.GREATER else number < limit

    def render(self) -> str:
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator} ({','.join(self.values)})"
        return f"{self.key}{self.operator}{self.values[0]}"


class LabelSelector(msgspec.Struct, frozen=True):
    """Requirements that must all hold; an empty one selects everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.matches(labels) for requirement in self.requirements)

    def render(self) -> str:
        return ",".join(requirement.render() for requirement in self.requirements)


class FieldTerm(msgspec.Struct, frozen=True):
    """One field compared with one value."""

    path: str
    value: str
    negated: bool = False

    def render(self) -> str:
        escaped = re.sub(r"[\\,=]", r"\\\g<0>", self.value)
        return f"{self.path}{'!=' if self.negated else '='}{escaped}"


class FieldSelector(msgspec.Struct, frozen=True):
    """Field terms that must all hold; an empty one selects everything."""

    terms: tuple[FieldTerm, ...] = ()

    def matches(self, lookup: Callable[[str], str]) -> bool:
        """Whether an object is selected; `lookup` gives its field's text, empty if it has none."""
        return all((lookup(term.path) == term.value) is not term.negated for term in self.terms)

    def render(self) -> str:
        return ",".join(term.render() for term in self.terms)


def parse_labels(text: str) -> LabelSelector:
    """Parse `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>1`."""
    reader = _Reader(text)
    requirements: list[Requirement] = []
    if reader.peek() != _END and not reader.at_requirement():
        raise SelectorError(_found(reader.peek(), "!, identifier, or 'end of string'"))
    while reader.peek() != _END:
        try:
            requirements.append(_read_requirement(reader))
        except SelectorError as error:
            raise SelectorError(f"unable to parse requirement: {error}") from error
        _read_separator(reader)
    return _selector(requirements)


def labels_from_object(selector: object) -> LabelSelector:
    """Parse `matchLabels` and `matchExpressions`."""
    try:
        body = msgspec.convert(selector, _Body)
    except msgspec.ValidationError as error:
        raise SelectorError(f"invalid label selector: {error}") from error
    wanted = (body.match_labels or {}).items()
    requirements = [_checked(key, Operator.EQUALS, [value]) for key, value in wanted]
    requirements += [_read_expression(each) for each in body.match_expressions or ()]
    return _selector(requirements)


def parse_fields(text: str) -> FieldSelector:
    """Parse `metadata.name=x,status.phase!=Running`; a backslash escapes `,`, `=` and itself."""
    parts = re.findall(r"(?:[^\\,]|\\.?)+", text, re.DOTALL)
    terms = (_field_term(part, text) for part in parts)
    return FieldSelector(tuple(sorted(terms, key=FieldTerm.render)))


class _Expression(msgspec.Struct, frozen=True):
    key: str = ""
    operator: str = ""
    values: Sequence[str] | None = None


class _Body(msgspec.Struct, frozen=True, rename="camel"):
    match_labels: Mapping[str, str] | None = None
    match_expressions: Sequence[_Expression] | None = None


class _Reader:
    """The tokens of a selector; `_END` after the last."""

    def __init__(self, text: str) -> None:
        self._tokens: Iterator[str] = iter(_TOKEN.findall(text))
        self._next = next(self._tokens, _END)

    def peek(self) -> str:
        return self._next

    def take(self) -> str:
        token, self._next = self._next, next(self._tokens, _END)
        return token

    def at_word(self) -> bool:
        return self._next != _END and self._next not in _SYMBOLS

    def at_requirement(self) -> bool:
        return self._next == "!" or self.at_word()


def _read_separator(reader: _Reader) -> None:
    separator = reader.take()
    if separator not in {",", _END}:
        raise SelectorError(_found(separator, "',' or 'end of string'"))
    if separator == "," and not reader.at_requirement():
        raise SelectorError(_found(reader.peek(), "identifier after ','"))


def _read_requirement(reader: _Reader) -> Requirement:
    is_negated = reader.peek() == "!"
    if is_negated:
        reader.take()
    key = _read_word(reader)
    if problems := label_key_problems(key):
        raise SelectorError(field.invalid("<nil>", key, "; ".join(problems)).text)
    if is_negated:
        return Requirement(key, Operator.DOES_NOT_EXIST)
    if reader.peek() in {",", _END}:
        return Requirement(key, Operator.EXISTS)
    token = reader.take()
    operator = _IN_TEXT.get(token)
    if operator is None:
        raise SelectorError(_found(token, "in, notin, =, ==, !=, gt, lt"))
    values = _read_set(reader) if operator in _SETS else [_read_value(reader)]
    return _checked(key, operator, values)


def _read_word(reader: _Reader) -> str:
    if not reader.at_word():
        raise SelectorError(_found(reader.peek(), "identifier"))
    return reader.take()


def _read_value(reader: _Reader) -> str:
    return "" if reader.peek() in {",", _END} else _read_word(reader)


def _read_set(reader: _Reader) -> list[str]:
    """A parenthesised list; nothing between commas is the empty value."""
    opening = reader.take()
    if opening != "(":
        raise SelectorError(_found(opening, "'('"))
    values: list[str] = []
    separator = ","
    while separator == ",":
        if not reader.at_word() and reader.peek() not in {",", ")"}:
            raise SelectorError(_found(reader.peek(), "',', ')' or identifier"))
        values.append(reader.take() if reader.at_word() else "")
        separator = reader.take()
    if separator != ")":
        raise SelectorError(_found(separator, "',' or ')'"))
    return values


def _read_expression(expression: _Expression) -> Requirement:
    operator = _IN_OBJECT.get(expression.operator)
    if operator is None:
        raise SelectorError(f'"{expression.operator}" is not a valid label selector operator')
    return _checked(expression.key, operator, expression.values or ())


def _checked(key: str, operator: Operator, values: Sequence[str]) -> Requirement:
    faults = [*_shape_faults(key, operator, values), *_value_faults(key, operator, values)]
    if faults:
        raise SelectorError(field.summary(faults))
    return Requirement(key, operator, tuple(sorted(set(values))))


def _shape_faults(key: str, operator: Operator, values: Sequence[str]) -> Iterator[field.Fault]:
    if problems := label_key_problems(key):
        yield field.invalid("key", key, "; ".join(problems))
    if operator in _SETS and not values:
        yield field.invalid("values", [], "for 'in', 'notin' operators, values set can't be empty")
    if operator in _UNARY and values:
        detail = "values set must be empty for exists and does not exist"
        yield field.invalid("values", list(values), detail)


def _value_faults(key: str, operator: Operator, values: Sequence[str]) -> Iterator[field.Fault]:
    for index, value in enumerate(values):
        if operator in _ORDERS and _integer(value) is None:
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            yield field.invalid(f"values[{index}]", value, detail)
        if problems := label_value_problems(value):
            yield field.invalid(f"values[{index}][{key}]", value, "; ".join(problems))


def _selector(requirements: Iterable[Requirement]) -> LabelSelector:
    return LabelSelector(tuple(sorted(requirements, key=lambda each: each.key)))


def _field_term(part: str, whole: str) -> FieldTerm:
    match = re.fullmatch(r"(.*?)(!=|==?)(.*)", part, re.DOTALL)
    if match is None:
        raise SelectorError(f"invalid selector: '{whole}'; can't understand '{part}'")
    path, operator, escaped = match.groups()
    return FieldTerm(path, _unescaped(escaped), negated=operator == "!=")


def _unescaped(text: str) -> str:
    for piece in re.findall(r"\\.?|[,=]", text, re.DOTALL):
        if piece in {",", "="}:
            raise SelectorError(f"invalid field selector: unescaped character in value: {piece}")
        if piece not in {r"\\", r"\,", r"\="}:
            raise SelectorError(f"invalid field selector: invalid escape sequence: {piece}")
    return re.sub(r"\\(.)", r"\1", text)


def _found(token: str, expected: str) -> str:
    return f"found '{token}', expected: {expected}"


def _integer(text: str | None) -> int | None:
    if text is None or re.fullmatch("[0-9]{1,63}", text) is None:
        return None
    return number if (number := int(text)) <= _LARGEST_INTEGER else None
