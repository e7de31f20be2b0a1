"""Finds forbidden words in the text and names of the project's files.

Forbidden are paths of the development machine, hosts of package registries, words about the
authors' working environment, and file names such as utils or common. Ignored files are skipped.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple


class Rule(NamedTuple):
    """A forbidden pattern, and what to use instead."""

    pattern: re.Pattern[str]
    remedy: str


def _rule(pattern: str, remedy: str) -> Rule:
    return Rule(re.compile(pattern, re.IGNORECASE), remedy)


# Each pattern has a bracket or an escape inside, so that this file does not match itself.
TEXT = (
    _rule(r"(?<![\w.])/[w]ork/", "a path of one machine: write it relative to the checkout"),
    _rule(r"(?<![\w.])/[r]oot/", "a path of one machine: write it relative to the checkout"),
    _rule(r"/[t]mp/(?:lab|brief|house)\b", "a path of one machine: use a temporary folder"),
    _rule(
        r"\b(?:pypi\.(?:org|io)|pythonhosted\.[o]rg|(?:proxy|sum)\.golang\.[o]rg)\b",
        "a registry's host: name the package, the user's tool knows where to find it",
    ),
    _rule(
        r"\b(?:sub-?[a]gents?|[c]laude|[a]nthropic|[l]lms?|[a]i [a]ssistant)\b",
        "who wrote it does not matter to a reader: leave it out",
    ),
    _rule(
        r"\b(?:(?:this|your|my|the) [b]rief|helper [s]essions?|other [e]ngineers?"
        r"|[a]s requested|(?:my|your|the) [s]ession's)\b",
        "how it came about belongs to no file: say what is true now",
    ),
    _rule(r"\b[i]ssue \#?\d+\b", "say the reason itself instead of pointing at a ticket"),
    _rule(
        r"\b[s]hared/(?:contract|facts|lab|seeds|asks|style|design)\b"
        r"|\b(?:[k]ubeflow|[a]sks)\.md\b|(?<![\w/-])[d]esign\.md\b",
        "a document that is not part of the project: say it in docs/",
    ),
)
NAMELESS = frozenset({"utils", "util", "common", "helpers", "helper", "constants", "misc"})


class Fault(NamedTuple):
    """One forbidden word and its location."""

    place: str
    word: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.place}: {self.word!r}: {self.remedy}"


def faults_in_text(name: str, text: str) -> Iterator[Fault]:
    """All forbidden words of a text, with their lines."""
    for number, line in enumerate(text.splitlines(), start=1):
        for rule in TEXT:
            for match in rule.pattern.finditer(line):
                yield Fault(f"{name}:{number}", match.group(), rule.remedy)


def faults_in_name(name: str) -> Iterator[Fault]:
    """All parts of a path with a forbidden name."""
    for part in PurePosixPath(name).parts:
        if part.split(".", maxsplit=1)[0].lower() in NAMELESS:
            yield Fault(name, part, "name it after the concept it holds")


def files_of(root: Path) -> Iterator[str]:
    """The files that are not ignored by git."""
    listing = ["git", "-C", str(root), "ls-files", "-z", "-c", "-o", "--exclude-standard"]
    done = subprocess.run(listing, check=True, capture_output=True, text=True)
    for name in sorted(set(done.stdout.split("\0"))):
        if (root / name).is_file():
            yield name


def _faults(root: Path) -> Iterator[Fault]:
    for name in files_of(root):
        yield from faults_in_name(name)
        # Invalid bytes must not stop the search.
        yield from faults_in_text(name, (root / name).read_text("utf-8", errors="replace"))


def main(root: Path) -> int:
    """Print the faults; return 1 if there are any."""
    found = list(_faults(root))
    print("\n".join(map(str, found)) or "words: nothing forbidden")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path.cwd()))
