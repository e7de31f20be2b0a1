"""How far a cache has come.

Versions are opaque by contract and whole numbers in practice. Numbers are compared; for anything
else only the very same version will do.
"""

from typing import Final

_MOST_DIGITS: Final = 20
"""A version is a number of 64 bits."""


def number(version: str) -> int | None:
    """The version as a number, if it is one."""
    is_number = version.isascii() and version.isdigit() and len(version) <= _MOST_DIGITS
    return int(version) if is_number else None


def is_older(version: str, than: str) -> bool:
    """Whether a version is surely older than another one."""
    ours, theirs = number(version), number(than)
    return ours is not None and theirs is not None and ours < theirs


class Progress:
    """The last version seen of a collection."""

    def __init__(self) -> None:
        self.version = ""

    def advance(self, version: str) -> None:
        """Everything up to this version has been seen."""
        self.version = version

    def reaches(self, version: str) -> bool:
        """Whether what was written as this version has been seen."""
        seen, wanted = number(self.version), number(version)
        if seen is None or wanted is None:
            return self.version == version
        return seen >= wanted
