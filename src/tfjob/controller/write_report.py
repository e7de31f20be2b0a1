"""What came of writing a job's children in one reconcile."""

import msgspec

from tfjob.client.errors import ApiError, NamespaceTerminating


class Report(msgspec.Struct):
    """The result of writing a job's children: versions to wait for, and errors."""

    versions: dict[str, str] = msgspec.field(default_factory=dict)
    errors: list[ApiError] = msgspec.field(default_factory=list)
    refused: int = 0
    """How many of the errors are refused creates, which are retried after `retry_after`."""
    retry_after: float | None = None
    """Seconds until creates that were refused, now or earlier, may be retried."""
    retries_soon: bool = False
    """An object with a child's name is terminating, or has just changed: retry shortly."""
    old_child: str = ""
    """A terminating object with a child's name, which is waited for."""
    has_more: bool = False
    first_create_error: str = ""
    refused_child: str = ""
    """The first child, in plan order, that could not be created, and its error."""

    @property
    def namespace_terminating(self) -> bool:
        """Nothing can be created in the namespace any more."""
        return any(isinstance(error, NamespaceTerminating) for error in self.errors)
