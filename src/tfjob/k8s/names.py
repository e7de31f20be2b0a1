"""Validation of names, label keys and label values.

Each function returns all problems with the messages of the API server, or an empty tuple. Lengths
count bytes.
"""

import re

MAX_LABEL_LENGTH = 63
MAX_SUBDOMAIN_LENGTH = 253
MAX_PORT_NAME_LENGTH = 15
GENERATED_SUFFIX = "xxxxx"
"""Placeholder for what the API server appends to a `generateName`."""

_DNS1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_DNS1123_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS1123_SUBDOMAIN = rf"{_DNS1123_LABEL}(\.{_DNS1123_LABEL})*"
_QUALIFIED_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_QUALIFIED_NAME})?"

_QUALIFIED_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)


def dns1035_label_problems(text: str) -> tuple[str, ...]:
    """Problems of a name such as a Service's: starts with a letter, no dots, up to 63 bytes."""
    problems = _length_problems(text, MAX_LABEL_LENGTH)
    if re.fullmatch(_DNS1035_LABEL, text) is None:
        rule = (
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
            "start with an alphabetic character, and end with an alphanumeric character"
        )
        problems += (_mismatch(rule, _DNS1035_LABEL, examples=("my-name", "abc-123")),)
    return problems


def dns1123_label_problems(text: str) -> tuple[str, ...]:
    """Problems of a name such as a container's or a namespace's: no dots, up to 63 bytes."""
    problems = _length_problems(text, MAX_LABEL_LENGTH)
    if re.fullmatch(_DNS1123_LABEL, text) is not None:
        return problems
    if re.fullmatch(_DNS1123_SUBDOMAIN, text) is not None:
        return (*problems, "must not contain dots")
    rule = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
        "and must start and end with an alphanumeric character"
    )
    return (*problems, _mismatch(rule, _DNS1123_LABEL, examples=("my-name", "123-abc")))


def dns1123_subdomain_problems(text: str) -> tuple[str, ...]:
    """Problems of a name such as a pod's: labels joined by dots, up to 253 bytes."""
    problems = _length_problems(text, MAX_SUBDOMAIN_LENGTH)
    if re.fullmatch(_DNS1123_SUBDOMAIN, text) is None:
        rule = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
            "'-' or '.', and must start and end with an alphanumeric character"
        )
        problems += (_mismatch(rule, _DNS1123_SUBDOMAIN, examples=("example.com",)),)
    return problems


def port_name_problems(text: str) -> tuple[str, ...]:
    """Problems of a port name: an IANA service name of up to 15 bytes."""
    rules = (
        (
            len(text) <= MAX_PORT_NAME_LENGTH,
            f"must be no more than {MAX_PORT_NAME_LENGTH} characters",
        ),
        (
            re.fullmatch("[-a-z0-9]+", text) is not None,
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (re.search("[a-z]", text) is not None, "must contain at least one letter (a-z)"),
        ("--" not in text, "must not contain consecutive hyphens"),
        (text.strip("-") == text, "must not begin or end with a hyphen"),
    )
    return tuple(problem for holds, problem in rules if not holds)


def label_key_problems(text: str) -> tuple[str, ...]:
    """Problems of a label or annotation key: a name with an optional `subdomain/` prefix."""
    prefix, slash, name = text.partition("/")
    if "/" in name:
        hint = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a qualified name {_name_mismatch()} {hint}",)
    if not slash:
        return _key_name_problems(text)
    if not prefix:
        return ("prefix part must be non-empty", *_key_name_problems(name))
    prefixed = tuple(f"prefix part {each}" for each in dns1123_subdomain_problems(prefix))
    return prefixed + _key_name_problems(name)


def label_value_problems(text: str) -> tuple[str, ...]:
    """Problems of a label's value, which may be empty."""
    problems = _length_problems(text, MAX_LABEL_LENGTH)
    if re.fullmatch(_LABEL_VALUE, text) is None:
        rule = f"a valid label must be an empty string or {_QUALIFIED_NAME_RULE[len('must ') :]}"
        problems += (_mismatch(rule, _LABEL_VALUE, examples=("MyValue", "my_value", "12345")),)
    return problems


def _key_name_problems(name: str) -> tuple[str, ...]:
    if not name:
        return ("name part must be non-empty", f"name part {_name_mismatch()}")
    problems = tuple(f"name part {each}" for each in _length_problems(name, MAX_LABEL_LENGTH))
    if re.fullmatch(_QUALIFIED_NAME, name) is None:
        problems += (f"name part {_name_mismatch()}",)
    return problems


def _name_mismatch() -> str:
    return _mismatch(
        _QUALIFIED_NAME_RULE, _QUALIFIED_NAME, examples=("MyName", "my.name", "123-abc")
    )


def _length_problems(text: str, longest: int) -> tuple[str, ...]:
    if len(text.encode("utf-8", "surrogatepass")) <= longest:
        return ()
    return (f"must be no more than {longest} characters",)


def _mismatch(rule: str, pattern: str, *, examples: tuple[str, ...]) -> str:
    # Kubernetes also prints a comma and two spaces before "or".
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {listed}regex used for validation is '{pattern}')"
