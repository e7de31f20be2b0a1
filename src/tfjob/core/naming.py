"""Names and label values of children, derived from the job's name only.

Because names are fixed, a stale cache cannot lead to a duplicate: the API server rejects it.
"""

MAX_NAME_LENGTH = 63


def child_prefix(*parts: str) -> str:
    """The part of a child's name before its index."""
    return "".join(f"{_plain(part)}-" for part in parts)


def label_value(text: str) -> str:
    """Turn text into a label value: at most 63 characters, ending in a letter or digit."""
    cut = _plain(text)[:MAX_NAME_LENGTH]
    while cut and not (cut[-1].isascii() and cut[-1].isalnum()):
        cut = cut[:-1]
    return cut


def _plain(text: str) -> str:
    return text.replace("/", "-")
