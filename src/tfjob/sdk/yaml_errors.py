"""Explains why a text is not YAML: the line, what is wrong there, and what to write instead.

The parser names what it expected. People need to know what they probably did.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import yaml

_NO_BREAK_SPACE: Final = "\u00a0"
_TEMPLATE: Final = "{{"


class Explanation(NamedTuple):
    """The line, counted from 1, and the sentence about it; no line if the parser names none."""

    line: int | None
    text: str


class _Advice(NamedTuple):
    """What is wrong and the remedy, at the line where it was noticed or where it begins."""

    wrong: str
    remedy: str
    is_at_begin: bool = False


_NO_QUOTE: Final = _Advice(
    "the quoted text that begins here has no closing quote",
    "add it at the end of the text",
    is_at_begin=True,
)
_UNCLOSED: Final = re.compile(r"""(?:[:-] +)(["'])(?:(?!\1).)*$""")
"""A quoted value that does not end in its line."""
_CLOSERS: Final = {"did not find expected ',' or ']'": "]", "did not find expected ',' or '}'": "}"}
_KNOWN: Final[Mapping[str, _Advice]] = {
    "did not find expected ',' or ']'": _Advice(
        "the list that begins here has no closing ]",
        "add it at the end of the list",
        is_at_begin=True,
    ),
    "did not find expected ',' or '}'": _Advice(
        "the object that begins here has no closing }",
        "add it at the end of the object",
        is_at_begin=True,
    ),
    "could not find expected ':'": _Advice(
        "the line has no colon", "write it as `name: value`", is_at_begin=True
    ),
    "did not find expected '-' indicator": _Advice(
        "the line is neither an item of the list above nor a field of its last item",
        "begin it with `- `, or indent it as the fields of the item",
    ),
    "did not find expected key": _Advice(
        "the line is not indented as the fields beside it, or has text behind a closing quote",
        "correct the indentation or the quotes",
    ),
    "found undefined alias": _Advice(
        "a value that begins with * refers to an anchor, and there is none of this name",
        "put the value in quotes",
    ),
    "found unhashable key": _Advice(
        "a key is a list or an object", "put the key, or the whole value, in quotes"
    ),
}
_TWO_VALUES: Final = _Advice("the value contains a colon and a space", "put the value in quotes")
_CONTINUED: Final = _Advice(
    "the line is read as part of the text in the line before",
    "end the name in the line before with a colon and a space, or indent this line as the fields"
    " beside it",
)
_UNRENDERED: Final = _Advice(
    "the line contains an expression of a template", "render the template first", is_at_begin=True
)


def explained(error: yaml.MarkedYAMLError, text: str) -> Explanation:
    """`text` is what was parsed."""
    mark, begin = error.problem_mark or error.context_mark, error.context_mark
    if mark is None:
        return Explanation(None, error.problem or error.context or "")
    lines = [*text.splitlines(), "", ""]
    advice = _indented(lines[mark.line], "\t", "tab")
    if advice is not None:
        return _explained(mark.line, advice)
    # A no-break space is part of a text, so it is noticed there or one line later.
    for number in (mark.line, mark.line - 1):
        advice = _indented(lines[number], _NO_BREAK_SPACE, "no-break space")
        if advice is not None:
            return _explained(number, advice)
    unclosed = _unclosed_quote(lines, mark)
    if unclosed is not None:
        return _explained(unclosed, _NO_QUOTE)
    advice = _advice(error, lines, mark)
    if advice is None:
        return Explanation(mark.line + 1, error.problem or error.context or "")
    place = begin if advice.is_at_begin and begin is not None else mark
    return _explained(place.line, advice)


def _explained(line: int, advice: _Advice) -> Explanation:
    return Explanation(line + 1, f"{advice.wrong}; remedy: {advice.remedy}")


def _advice(
    error: yaml.MarkedYAMLError, lines: Sequence[str], mark: yaml.error.Mark
) -> _Advice | None:
    problem, begin = error.problem or "", error.context_mark or mark
    if error.context == "while scanning a quoted scalar":
        return _NO_QUOTE if "end of stream" in problem else None
    if _TEMPLATE in lines[begin.line]:
        return _UNRENDERED
    before, rest = lines[mark.line][: mark.column], lines[mark.line][mark.column :]
    closer = _CLOSERS.get(problem)
    if closer is not None and closer in rest:
        return _Advice("a comma is missing between two items", "add it")
    if problem.startswith("mapping values are not allowed"):
        return _TWO_VALUES if ": " in before else _CONTINUED
    if problem == "found character that cannot start any token" and rest:
        return _Advice(f"a value cannot begin with {rest[0]}", "put the value in quotes")
    return _KNOWN.get(problem)


def _unclosed_quote(lines: Sequence[str], mark: yaml.error.Mark) -> int | None:
    """The line of a quoted text that was meant to end there, but ends only where the next one was
    meant to begin, in the line of the mark."""
    before = lines[mark.line][: mark.column]
    for quote in ("'", '"'):
        inner = [number for number in range(mark.line) if quote in lines[number]]
        opening = _UNCLOSED.search(lines[inner[-1]]) if inner and quote in before else None
        if opening is not None and opening[1] == quote:
            return inner[-1]
    return None


def _indented(line: str, character: str, name: str) -> _Advice | None:
    """The advice about a line that is indented with this character."""
    column = line.find(character)
    if column < 0 or line[:column].strip():
        return None
    return _Advice(
        f"the line is indented with a {name} (column {column + 1}), and YAML allows only spaces",
        f"replace the {name}s at the beginning of lines with spaces",
    )
