"""What a dialect is: one API of jobs, translated to and from the neutral job.

Everything here is pure. A dialect never raises on what a user wrote: it returns faults.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Protocol

import msgspec

from tfjob.core.invalid import InvalidJob
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.status import JobStatus
from tfjob.k8s.field import Fault

Manifest = Mapping[str, Any]


class Settings(msgspec.Struct, frozen=True):
    """What the operator's flags and environment say about every job."""

    default_clean_pod_policy: str = "None"
    exit_code_table: str = "default"
    has_legacy_labels: bool = False
    has_evaluator_in_cluster: bool = False
    cluster_domain: str = ""
    gang_scheduler_name: str = ""
    force_delete_after: timedelta | None = None


class Dialect(Protocol):
    @property
    def group(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def plural(self) -> str: ...
    @property
    def child_selector(self) -> str:
        """Which objects of a cluster can be children of this dialect's jobs at all."""

    @property
    def job_label(self) -> str:
        """The label by which children name their job."""

    def validate(self, manifest: Manifest) -> list[Fault]:
        """Every fault of a job as a user wrote it."""

    def decode(self, manifest: Manifest, settings: Settings) -> Job | InvalidJob:
        """What a stored job means."""

    def encode_status(
        self, job: Job | InvalidJob, status: JobStatus, children: Children
    ) -> dict[str, Any]:
        """The status in the API's own shape."""

    def crd(self) -> dict[str, Any]:
        """The definition that makes an API server know this API."""
