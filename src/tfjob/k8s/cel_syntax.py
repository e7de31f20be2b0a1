"""Parses CEL, the expression language of `x-kubernetes-validations`.

Anything outside the grammar is refused with its position in the text. Functions and values are
not known here.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
    |(?P<int>0[xX][0-9a-fA-F]+[uU]?|\d+[uU]?)
    |(?P<text>[rR]?(?:'''[\s\S]*?'''|\"\"\"[\s\S]*?\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*|`[^`]+`)
    |(?P<op>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE,
)
_LEVELS = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))
_CONSTANTS = {"true": True, "false": False, "null": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_DEEPEST = 40


class CelError(ValueError):
    """An expression that cannot be parsed, or uses something unsupported."""


class Literal(NamedTuple):
    value: Any


class Name(NamedTuple):
    name: str


class Select(NamedTuple):
    """`target.field`."""

    target: Any
    field: str


class Index(NamedTuple):
    target: Any
    key: Any


class Call(NamedTuple):
    """`name(args)`, or `target.name(args)`; operators are calls named by their sign."""

    name: str
    target: Any
    args: tuple[Any, ...]


class Items(NamedTuple):
    items: tuple[Any, ...]


class Pairs(NamedTuple):
    pairs: tuple[tuple[Any, Any], ...]


Node = Literal | Name | Select | Index | Call | Items | Pairs


def parse(text: str) -> Node:
    reader = _Parser(text)
    try:
        node = reader.expression()
    except RecursionError as error:
        raise CelError(f"{text[:50]!r}… is nested too deeply") from error
    reader.expect_end()
    return node


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._at = 0
        self._depth = 0

    def expression(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise CelError(f"an expression may be nested at most {_DEEPEST} deep")
        condition = self._binary(0)
        if self._accept("?"):
            yes = self.expression()
            self._expect(":")
            condition = Call("?:", None, (condition, yes, self.expression()))
        self._depth -= 1
        return condition

    def expect_end(self) -> None:
        if self._at < len(self._tokens):
            raise self._unexpected()

    def _binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while (sign := self._peek()) in _LEVELS[level] and self._kind() != "text":
            self._at += 1
            left = Call(sign, None, (left, self._binary(level + 1)))
        return left

    def _unary(self) -> Node:
        for sign in ("!", "-"):
            if self._accept(sign):
                return Call(f"{sign}_", None, (self._unary(),))
        return self._member()

    def _member(self) -> Node:
        node = self._primary()
        while True:
            if self._accept("."):
                if self._peek() == "?":
                    raise CelError("optional selection `.?` is not supported")
                name = self._name()
                node = (
                    Call(name, node, self._arguments()) if self._accept("(") else Select(node, name)
                )
            elif self._accept("["):
                key = self.expression()
                self._expect("]")
                node = Index(node, key)
            else:
                return node

    def _primary(self) -> Node:
        kind, text = self._next()
        if kind in _READERS:
            return Literal(_READERS[kind](text))
        if kind == "name":
            if text in _CONSTANTS:
                return Literal(_CONSTANTS[text])
            return Call(text, None, self._arguments()) if self._accept("(") else Name(text)
        if text == "(":
            node = self.expression()
            self._expect(")")
            return node
        if text == "[":
            return Items(self._until("]"))
        if text == "{":
            return Pairs(self._pairs())
        self._at -= 1
        raise self._unexpected()

    def _arguments(self) -> tuple[Node, ...]:
        return self._until(")")

    def _until(self, end: str) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self._accept(end):
            found.append(self.expression())
            if self._peek() != end:
                self._expect(",")
        return tuple(found)

    def _pairs(self) -> tuple[tuple[Node, Node], ...]:
        found: list[tuple[Node, Node]] = []
        while not self._accept("}"):
            key = self.expression()
            self._expect(":")
            found.append((key, self.expression()))
            if self._peek() != "}":
                self._expect(",")
        return tuple(found)

    def _name(self) -> str:
        kind, text = self._next()
        if kind != "name":
            self._at -= 1
            raise self._unexpected()
        return text.strip("`")

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _kind(self) -> str:
        return self._tokens[self._at][0]

    def _next(self) -> tuple[str, str]:
        if self._at >= len(self._tokens):
            raise self._unexpected()
        self._at += 1
        return self._tokens[self._at - 1]

    def _accept(self, sign: str) -> bool:
        is_there = self._at < len(self._tokens) and self._tokens[self._at] == ("op", sign)
        self._at += is_there
        return is_there

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            raise self._unexpected(f", expected {sign!r}")

    def _unexpected(self, more: str = "") -> CelError:
        found = repr(self._peek()) if self._at < len(self._tokens) else "the end"
        return CelError(f"Syntax error in {self._text!r}: found {found}{more}")


def _tokens(text: str) -> list[tuple[str, str]]:
    found = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise CelError(f"Syntax error in {text!r}: cannot read {text[at : at + 10]!r}")
        kind = str(token.lastgroup)
        if kind != "space":
            # `in` is an operator, though it looks like a name.
            found.append(("op" if token[0] == "in" else kind, token[0]))
        at = token.end()
    return found


def _number(text: str) -> int:
    return int(text.rstrip("uU"), 0 if text[:2].lower() == "0x" else 10)


def _string(text: str) -> str:
    is_raw = text[0] in "rR"
    body = text[1:] if is_raw else text
    quote = 3 if body[:3] in {"'''", '"""'} else 1
    body = body[quote:-quote]
    return body if is_raw else re.sub(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", _unescaped, body)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "ux" and len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPES.get(code, code)


_READERS: dict[str, Callable[[str], Any]] = {"float": float, "int": _number, "text": _string}
