"""The errors that callers get: each says what is wrong and what to do about it."""


class TFJobError(Exception):
    """An operation failed; `cause` says why, and `remedy` what to do, if that is known."""

    def __init__(self, cause: str, *, remedy: str = "") -> None:
        super().__init__(cause)
        self.cause = cause
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.cause}; {self.remedy}" if self.remedy else self.cause


class JobFailedError(TFJobError):
    """The job has failed; `cause` is the sentence that `explain` returns."""

    def __str__(self) -> str:
        return f"{self.cause}. {self.remedy}" if self.remedy else self.cause


class JobTimeoutError(TFJobError, TimeoutError):
    """The job did not reach the state in time. It is not deleted."""
