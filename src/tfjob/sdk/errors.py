"""The errors that a caller sees: each says what is wrong, and what to do about it."""


class TFJobError(Exception):
    """Something cannot be done; `cause` says why, and `remedy` what helps, if that is known."""

    def __init__(self, cause: str, *, remedy: str = "") -> None:
        super().__init__(cause)
        self.cause = cause
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.cause}; {self.remedy}" if self.remedy else self.cause


class JobFailedError(TFJobError):
    """The job has failed; the cause is the sentence of its explanation."""

    def __str__(self) -> str:
        return f"{self.cause}. {self.remedy}" if self.remedy else self.cause


class JobTimeoutError(TFJobError, TimeoutError):
    """The job did not reach a state in time. It is still there."""
