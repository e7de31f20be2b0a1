"""The Dockerfile fits the checkout; building it needs a container engine."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "Dockerfile").read_text("utf-8")
_COPY = re.compile(r"^COPY (?!--from)(.+) \S+$", re.MULTILINE)


def copied() -> list[str]:
    """What goes in from the checkout."""
    return [word for words in _COPY.findall(TEXT) for word in words.split()]


def test_each_file_that_goes_in_is_there() -> None:
    assert copied()
    assert [name for name in copied() if not (ROOT / name).exists()] == []


def test_nothing_that_goes_in_is_held_back() -> None:
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    let_in = {line[1:] for line in lines if line.startswith("!")}
    assert "*" in lines
    assert {name.split("/")[0] for name in copied()} == let_in


def test_what_the_build_needs_goes_in() -> None:
    """The package is described by files of its own: those too must be there."""
    described = re.findall(r'"(README\.md|LICENSE)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    assert {"README.md", "LICENSE"} <= {*described} <= {*copied()}


def test_packages_come_by_the_lock_alone() -> None:
    installs = re.findall(r"pip install (.+?)(?: \\)?$", TEXT, re.MULTILINE)
    assert len(installs) == 3
    assert all(each.startswith(("--require-hashes -r ", "--no-index ")) for each in installs)


def test_image_does_not_run_as_root() -> None:
    assert re.findall(r"^USER (.+)$", TEXT, re.MULTILINE) == ["65532:65532"]
    assert TEXT.rstrip().endswith('ENTRYPOINT ["tfjob", "operator"]')
