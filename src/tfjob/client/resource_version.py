"""Compares resource versions.

They are opaque by contract but whole numbers in practice. Numbers are compared by value; other
versions only for equality.
"""

from typing import Final

_MAX_DIGITS: Final = 20
"""Enough for a 64-bit number."""


def number(version: str) -> int | None:
    """The version as a number; None if it is not one."""
    is_number = version.isascii() and version.isdigit() and len(version) <= _MAX_DIGITS
    return int(version) if is_number else None


def is_older(version: str, than: str) -> bool:
    """Whether a version is known to be older than another one."""
    ours, theirs = number(version), number(than)
    return ours is not None and theirs is not None and ours < theirs


class Progress:
    """The last version seen of a collection."""

    def __init__(self) -> None:
        self.version = ""

    def advance(self, version: str) -> None:
        """Record that everything up to this version has been seen."""
        self.version = version

    def reaches(self, version: str) -> bool:
        """Whether this version has been seen."""
        seen, wanted = number(self.version), number(version)
        if seen is None or wanted is None:
            return self.version == version
        return seen >= wanted
