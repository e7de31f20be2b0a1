"""Random words, by which the children of one job are told from those of others."""

import secrets
from typing import Final

_LENGTH: Final = 4
_CHARACTERS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def random_token() -> str:
    return "".join(secrets.choice(_CHARACTERS) for _ in range(_LENGTH))
