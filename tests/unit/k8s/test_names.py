"""Valid and invalid names, with the messages of the API server."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfjob.k8s import names

Question = Callable[[str], tuple[str, ...]]

DNS1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
DNS1123 = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
NAME = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
PREFIX = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
TOO_LONG = "must be no more than 63 characters"
QUESTIONS: list[Question] = [
    names.dns1035_label_problems,
    names.dns1123_label_problems,
    names.dns1123_subdomain_problems,
    names.label_key_problems,
    names.label_value_problems,
]


@pytest.mark.parametrize("text", ["a", "my-name", "abc-123", "a" * 63])
def test_dns1035_label_is_accepted(text: str) -> None:
    assert names.dns1035_label_problems(text) == ()


@pytest.mark.parametrize("text", ["", "00test", "-a", "a-", "A", "a.b", "a_b", "é", "a\n"])
def test_what_is_no_dns1035_label_is_rejected(text: str) -> None:
    assert names.dns1035_label_problems(text) == (DNS1035,)


def test_a_long_dns1035_label_is_rejected_for_its_length() -> None:
    assert names.dns1035_label_problems("a" * 64) == (TOO_LONG,)


def test_both_problems_of_a_dns1035_label_are_named_length_first() -> None:
    assert names.dns1035_label_problems("0" * 64) == (TOO_LONG, DNS1035)


@pytest.mark.parametrize("text", ["0", "123-abc", "a" * 63])
def test_dns1123_label_is_accepted(text: str) -> None:
    assert names.dns1123_label_problems(text) == ()


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", (DNS1123,)),
        ("A", (DNS1123,)),
        ("a.b", ("must not contain dots",)),
        ("a" * 64, (TOO_LONG,)),
        ("a" * 63 + ".a", (TOO_LONG, "must not contain dots")),
    ],
)
def test_what_is_no_dns1123_label_is_rejected(text: str, problems: tuple[str, ...]) -> None:
    assert names.dns1123_label_problems(text) == problems


@pytest.mark.parametrize("text", ["a", "a.b-c.0", "a" * 253])
def test_dns1123_subdomain_is_accepted(text: str) -> None:
    assert names.dns1123_subdomain_problems(text) == ()


@pytest.mark.parametrize("text", ["", ".a", "a.", "a..b", "a.-b", "A.b"])
def test_what_is_no_dns1123_subdomain_is_rejected(text: str) -> None:
    assert names.dns1123_subdomain_problems(text) == (SUBDOMAIN,)


def test_a_long_subdomain_is_rejected_for_its_length() -> None:
    problem = "must be no more than 253 characters"
    assert names.dns1123_subdomain_problems("a" * 254) == (problem,)


@pytest.mark.parametrize("text", ["a", "A.b_c-1", "kubeflow.org/job-name", f"a/{'x' * 63}"])
def test_label_key_is_accepted(text: str) -> None:
    assert names.label_key_problems(text) == ()


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", ("name part must be non-empty", f"name part {NAME}")),
        ("a b", (f"name part {NAME}",)),
        ("/a", ("prefix part must be non-empty",)),
        ("a/", ("name part must be non-empty", f"name part {NAME}")),
        ("A/b", (f"prefix part {SUBDOMAIN}",)),
        ("x" * 64, (f"name part {TOO_LONG}",)),
        ("a/b/c", (f"a qualified name {NAME} {PREFIX}",)),
    ],
)
def test_what_is_no_label_key_is_rejected(text: str, problems: tuple[str, ...]) -> None:
    assert names.label_key_problems(text) == problems


@pytest.mark.parametrize("text", ["", "a", "0", "my_value.X-1", "x" * 63])
def test_label_value_is_accepted(text: str) -> None:
    assert names.label_value_problems(text) == ()


@pytest.mark.parametrize(
    ("text", "problems"),
    [("-", (VALUE,)), ("a b", (VALUE,)), ("a/b", (VALUE,)), ("_" * 64, (TOO_LONG, VALUE))],
)
def test_what_is_no_label_value_is_rejected(text: str, problems: tuple[str, ...]) -> None:
    assert names.label_value_problems(text) == problems


def test_length_counts_bytes() -> None:
    assert names.label_value_problems("é" * 32) == (TOO_LONG, VALUE)


@given(st.text())
def test_no_text_makes_a_question_raise(text: str) -> None:
    assert all(isinstance(question(text), tuple) for question in QUESTIONS)


@given(st.text(alphabet="ab0-.", min_size=1, max_size=70))
def test_every_dns1035_label_is_a_dns1123_label_and_subdomain(text: str) -> None:
    if not names.dns1035_label_problems(text):
        assert names.dns1123_label_problems(text) == ()
        assert names.dns1123_subdomain_problems(text) == ()
        assert names.label_value_problems(text) == ()
