"""A page's commands are found, and its output is compared."""

import pytest

from tests.support.walkthrough import Step, steps_of

PAGE = """
```
$ not this
```

```console
$ one
a   b
$ two
```

```console local
$ three
x
```
"""


def test_commands_of_console_blocks_are_found_in_order() -> None:
    assert list(steps_of(PAGE)) == [
        Step("one", "a   b\n"),
        Step("two", ""),
        Step("three", "x\n", is_local=True),
    ]


@pytest.mark.parametrize(
    ("shown", "output"),
    [
        ("a   b\n", "a b\n"),
        ("", ""),
        ("a … c\n", "a what ever c\n"),
        ("…\nend\n", "one\ntwo\nend\n"),
        ("…\n", ""),
        ("a(b)\n", "a(b)\n"),
    ],
)
def test_output_that_is_as_shown_fits(shown: str, output: str) -> None:
    assert Step("c", shown).fits(output)


@pytest.mark.parametrize(
    ("shown", "output"),
    [("a\n", "b\n"), ("", "a\n"), ("a\n", ""), ("a\n", "a\nb\n"), ("a … c\n", "a b\nc\n")],
)
def test_other_output_does_not_fit(shown: str, output: str) -> None:
    assert not Step("c", shown).fits(output)
