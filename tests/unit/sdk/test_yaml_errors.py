"""Texts that are not YAML, and what is said about them: the line, the mistake and the remedy."""

import pytest

from tfjob.sdk.documents import DocumentError, parse

CONTINUED = "the line is read as part of the text in the line before; remedy: end the name"
MISINDENTED = "the line is not indented as the fields beside it, or has text behind a closing quote"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: 1\nb:\n\tc: 1\n", "3: invalid YAML: the line is indented with a tab (column 1)"),
        (
            "a:\n  b: 1\n \u00a0c: 1\n",
            "3: invalid YAML: the line is indented with a no-break space",
        ),
        ("a: |\n  x\n  \ty\nb: c: d\n", "4: invalid YAML: the value contains a colon and a space"),
        ("a: b: c\n", "1: invalid YAML: the value contains a colon and a space; remedy: put"),
        ("a:\n  b:1\n  c: 1\n", f"3: invalid YAML: {CONTINUED}"),
        ("a:\n  b\n  c: 1\n", f"3: invalid YAML: {CONTINUED}"),
        ("a:\n  b: 1\n   c: 1\n", f"3: invalid YAML: {CONTINUED}"),
        ("a:\n   b: 1\n  c: 1\n", f"3: invalid YAML: {MISINDENTED}; remedy: correct"),
        ("a: 'it's'\n", f"1: invalid YAML: {MISINDENTED}; remedy: correct"),
        ("a: 1\nb\nc: 2\n", "2: invalid YAML: the line has no colon; remedy: write it as"),
        (
            "a:\n  - b: 1\n  c: 1\n",
            "3: invalid YAML: the line is neither an item of the list above",
        ),
        (
            "a: 1\nb: [x,\n  y\nc: 1\n",
            "2: invalid YAML: the list that begins here has no closing ]",
        ),
        ("a: {x: 1\nb: 1\n", "1: invalid YAML: the object that begins here has no closing }"),
        ("a: 'x\nb: 1\n", "1: invalid YAML: the quoted text that begins here has no closing quote"),
        (
            'a: "x\nb: 1\nc: [d, "e"]\n',
            "1: invalid YAML: the quoted text that begins here has no closing quote",
        ),
        ("a: 'x'\nb: 'y\nc: 'z'\n", "2: invalid YAML: the quoted text that begins here"),
        ('{"a": "b" "c": "d"}\n', "1: invalid YAML: a comma is missing between two items"),
        ("a: [b c, 'd' e]\n", "1: invalid YAML: a comma is missing between two items"),
        (
            "a: @b\n",
            "1: invalid YAML: a value cannot begin with @; remedy: put the value in quotes",
        ),
        (
            "a: %b\n",
            "1: invalid YAML: a value cannot begin with %; remedy: put the value in quotes",
        ),
        ("a: *b\n", "1: invalid YAML: a value that begins with * refers to an anchor"),
        ("? [a]\n: 1\n", "1: invalid YAML: a key is a list or an object; remedy: put the key"),
        ("a: {{ .Values.x }}\n", "1: invalid YAML: the line contains an expression of a template"),
        ("a: 1\n{{- if b }}\nc: 1\n", "2: invalid YAML: the line contains an expression"),
        ('a: "\\q"\n', "1: invalid YAML: found unknown escape character"),
    ],
)
def test_the_line_the_mistake_and_the_remedy_are_named(text: str, told: str) -> None:
    with pytest.raises(DocumentError) as raised:
        parse(text, "f")
    assert str(raised.value).startswith(f"f:{told}")
