"""Names and labels of a TfJob's children: with the runtime id and, if configured, the job name."""

from collections.abc import Mapping

import msgspec

from tfjob.dialects.naming import child_prefix, label_value
from tfjob.dialects.tensorflow import api

_MAX_PREFIX_LENGTH = 40


class Names(msgspec.Struct, frozen=True):
    """The names of one job's children."""

    job: str
    runtime_id: str
    has_job: bool = False

    @property
    def prefix(self) -> str:
        """The truncated job name with which all names begin, or nothing."""
        return self.job[:_MAX_PREFIX_LENGTH] if self.has_job else ""

    @property
    def config_map(self) -> str:
        return f"cm-ps-{self.runtime_id}"

    @property
    def tensorboard(self) -> str:
        return self._joined("tensorboard", self.runtime_id.lower())

    def replica_prefix(self, kind: str) -> str:
        """The part of a child's name before its index."""
        return child_prefix(self._joined(kind.lower(), self.runtime_id))

    def replica(self, kind: str, index: int) -> str:
        return f"{self.replica_prefix(kind)}{index}"

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of all children."""
        return {
            api.LABEL_GROUP: "",
            api.LABEL_RUNTIME: self.runtime_id,
            api.LABEL_JOB: label_value(self.job),
        }

    def _joined(self, *parts: str) -> str:
        return "-".join([self.prefix, *parts] if self.prefix else parts)
