"""Resource versions: which of two is older, and up to which one a collection has been seen.

They are opaque by contract but whole numbers in practice: numbers are compared by value, other
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


def reaches(seen: str, wanted: str) -> bool:
    """Whether who has seen everything up to one version has seen the other one."""
    ours, theirs = number(seen), number(wanted)
    if ours is None or theirs is None:
        return seen == wanted
    return ours >= theirs
