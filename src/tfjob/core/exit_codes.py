"""Which exits of a container are retryable. Each dialect has its own table."""

import msgspec


class ExitCodes(msgspec.Struct, frozen=True):
    """Which exits of the training container are retryable."""

    retryable: frozenset[int] = frozenset()
    at_least: int | None = None
    permanent: frozenset[int] = frozenset()
    permanent_reasons: frozenset[str] = frozenset()
    missing_is_retryable: bool = True

    def is_retryable(self, code: int | None, *, reason: str = "") -> bool:
        if reason in self.permanent_reasons:
            return False
        if code is None:
            return self.missing_is_retryable
        if code in self.permanent:
            return False
        return code in self.retryable or (self.at_least is not None and code >= self.at_least)
