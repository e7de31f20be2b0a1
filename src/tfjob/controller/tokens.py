"""Random tokens for generated names of children."""

import secrets
from typing import Final

_LENGTH: Final = 4
_CHARACTERS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def random_token() -> str:
    return "".join(secrets.choice(_CHARACTERS) for _ in range(_LENGTH))
