"""Names and label values of children, derived from the job's name alone.

Fixed names are what makes a stale view harmless: a second child under one name cannot exist.
"""

MAX_NAME_LENGTH = 63


def child_prefix(*parts: str) -> str:
    """What stands before the index in the names of one replica type's children."""
    return "".join(f"{_plain(part)}-" for part in parts)


def label_value(text: str) -> str:
    """A text as a label value: at most 63 characters, ending in a letter or digit."""
    cut = _plain(text)[:MAX_NAME_LENGTH]
    while cut and not (cut[-1].isascii() and cut[-1].isalnum()):
        cut = cut[:-1]
    return cut


def _plain(text: str) -> str:
    return text.replace("/", "-")
