"""Files become documents that know the lines of their fields, or one error message."""

import sys
from pathlib import Path

import pytest

from tfjob.k8s.nesting import MAX_VALUES
from tfjob.sdk import documents
from tfjob.sdk.documents import Document, DocumentError

BOMB = "\n".join(
    [
        "a: &a [x, x, x, x, x, x, x, x, x, x]",
        *(
            f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]"
            for before, name in zip("abcdef", "bcdefg", strict=True)
        ),
    ]
)


def read(tmp_path: Path, text: str | bytes) -> list[Document]:
    path = tmp_path / "job.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return documents.read(str(path))


def error_of(tmp_path: Path, text: str | bytes) -> str:
    with pytest.raises(DocumentError) as caught:
        read(tmp_path, text)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence.removeprefix(str(tmp_path / "job.yaml"))


def test_documents_are_numbered_as_they_stand_and_empty_ones_are_left_out(tmp_path: Path) -> None:
    found = read(tmp_path, "a: 1\n---\n---\n# nothing\n---\nb: 2\n")
    assert [(each.number, each.value) for each in found] == [(1, {"a": 1}), (4, {"b": 2})]


def test_json_is_read_too_tabs_and_byte_order_mark_included(tmp_path: Path) -> None:
    (found,) = read(tmp_path, b'\xef\xbb\xbf{\n\t"a": [1, true, null]\n}')
    assert found.value == {"a": [1, True, None]}
    assert found.line_of("a[1]") == 2


def test_timestamp_stays_text(tmp_path: Path) -> None:
    (found,) = read(tmp_path, "a: 2026-01-02\nb: 2026-01-02T03:04:05Z\n")
    assert found.value == {"a": "2026-01-02", "b": "2026-01-02T03:04:05Z"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1:30", "1:30"),
        ("12:30:45.5", "12:30:45.5"),
        ("1e9", 1e9),
        ("1e-3", 0.001),
        ("-2.5E+2", -250.0),
        ("08", 8.0),
        ("0x10", 16),
        ("010", 8),
        ("1_000", 1000),
        ("-0", 0),
        ("1e", "1e"),
        ("v1", "v1"),
        ("1.2.3", "1.2.3"),
        ("0b", "0b"),
    ],
)
def test_numbers_are_read_as_kubectl_reads_them(tmp_path: Path, text: str, value: object) -> None:
    (found,) = read(tmp_path, f"a: {text}\n")
    assert found.value == {"a": value}
    assert type(found.value["a"]) is type(value)


def test_document_of_too_many_values_is_rejected_before_it_is_built(tmp_path: Path) -> None:
    text = f"x: 1\n---\ny:\n- [{'0,' * MAX_VALUES}]\n"
    assert error_of(tmp_path, text) == ":4: document 2 is too large: over 1000000 values"


def test_standard_input_that_is_closed_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DocumentError, match=r"^standard input: cannot be read: it is closed$"):
        documents.read("-")


def test_items_of_a_list_are_documents_with_lines_of_their_own(tmp_path: Path) -> None:
    found = read(tmp_path, "kind: List\nitems:\n- a: 1\n  a: 2\n- b: 3\n")
    assert [each.value for each in found] == [{"a": 2}, {"b": 3}]
    assert [each.number for each in found] == [1, 1]
    assert [each.line_of("b") for each in found] == [3, 5]
    assert [each.repeated for each in found] == [[("a", 4)], []]


@pytest.mark.parametrize("text", ["kind: List\nitems: null", "kind: List", "items: [1]"])
def test_list_without_items_is_a_document_itself(tmp_path: Path, text: str) -> None:
    (found,) = read(tmp_path, text)
    assert isinstance(found.value, dict)


def test_empty_list_holds_no_document(tmp_path: Path) -> None:
    assert read(tmp_path, "kind: List\nitems: []") == []


PLACES = """\
metadata:
  name: j
spec:
  types:
    Worker:
      list:
      - x: 1
      -
        y: 2
    Foo: {}
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("metadata", 1),
        ("metadata.name", 2),
        ("spec.types[Worker]", 5),
        ("spec.types.Worker.list[0].x", 7),
        ("spec.types.Worker.list[1].y", 9),
        ("metadata.missing", 1),
        ("spec.types[Worker].template.spec", 5),
        ("spec.types.Worker.list[7]", 6),
        ("elsewhere", 1),
        ("", 1),
    ],
)
def test_line_is_that_of_the_field_or_of_the_object_that_lacks_it(
    tmp_path: Path, path: str, line: int
) -> None:
    (found,) = read(tmp_path, PLACES)
    assert found.line_of(path) == line


def test_line_is_that_of_the_key_when_the_value_is_a_key(tmp_path: Path) -> None:
    (found,) = read(tmp_path, PLACES)
    assert found.line_of("spec.types", "Foo") == 10
    assert found.line_of("metadata.name", "j") == 2


def test_repeated_key_is_named_with_the_line_of_the_repetition(tmp_path: Path) -> None:
    (found,) = read(tmp_path, "a:\n- b: 1\n  c: 2\n  b: 3\n")
    assert found.repeated == [("a[0].b", 4)]
    assert found.value == {"a": [{"b": 3, "c": 2}]}
    assert found.line_of("a[0].b") == 4


def test_merged_key_that_is_overridden_is_no_repetition(tmp_path: Path) -> None:
    (found,) = read(tmp_path, "a: &a {x: 1}\nb:\n  <<: *a\n  x: 2\n")
    assert found.repeated == []
    assert found.value["b"] == {"x": 2}
    assert found.line_of("b.x") == 4


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [1\nb: 2\n", ":1: invalid YAML: the list that begins here has no closing ]"),
        ("a: !!python/object:os.system 1", ":1: invalid YAML: could not determine a constructor"),
        ("a: !!int x\n", ": invalid YAML: invalid literal for int()"),
        ("ok: 1\na\0b: 1\n", ":2: invalid YAML: control characters are not allowed"),
        (b"\xff\xfe\x00", ":1: is not UTF-8 text (byte 0); remedy: save the file as UTF-8"),
        (
            "a: &a\n  b: *a\n",
            ":1: document 1 is too large: its aliases expand to over 1000000 values",
        ),
        (
            "x: 1\n---\n" + BOMB,
            ":3: document 2 is too large: its aliases expand to over 1000000 values",
        ),
        ("\n" + "[" * 200_000, ":2: nested too deeply: at most 100 levels are allowed"),
        ("- " * 5_000 + "x", ":1: nested too deeply: at most 100 levels are allowed"),
    ],
)
def test_unreadable_file_is_one_sentence_with_its_place(
    tmp_path: Path, text: str | bytes, sentence: str
) -> None:
    assert error_of(tmp_path, text).startswith(sentence)


def test_file_that_cannot_be_opened_is_named_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="absent: cannot be read: No such file or directory"):
        documents.read(str(tmp_path / "absent"))
    with pytest.raises(DocumentError, match="cannot be read: Is a directory"):
        documents.read(str(tmp_path))
    with pytest.raises(DocumentError, match="cannot be read: embedded null byte"):
        documents.read("a\0b")


def test_field_of_an_older_version_is_found_further_out(tmp_path: Path) -> None:
    (found,) = read(tmp_path, "spec:\n  limit: 3\n  a: [{size: 1}, {x: 2}]\n  size: 2\n")
    assert found.spelt("spec.limit") == "spec.limit"
    assert found.spelt("spec.policy.limit") == "spec.limit"
    assert found.spelt("spec.policy.inner.limit") == "spec.limit"
    assert found.spelt("spec.a[0].size") == "spec.a[0].size"
    assert found.spelt("spec.a[1].name") == "spec.a[1].name"
    assert found.spelt("other.limit") == "other.limit"
    assert found.spelt("") == ""
