"""What a dialect is: one API of jobs, translated to and from the neutral job.

Everything here is pure. A dialect never raises on what a user wrote: it returns faults.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import msgspec

from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job, Workload
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
    options: Mapping[str, Any] = {}
    """The values of flags that concern one dialect, by the names of the flags."""
    served: frozenset[str] = frozenset()
    """Optional APIs that the cluster has, as `group/version/plural`."""


class ChildApi(msgspec.Struct, frozen=True):
    """A kind of object beside the replicas, and where an API server keeps it."""

    kind: str
    group: str
    version: str
    plural: str
    is_optional: bool = False
    """A cluster may do without it, and the dialect then does, too."""

    @property
    def name(self) -> str:
        return f"{self.group}/{self.version}/{self.plural}"


class StatusContext(msgspec.Struct, frozen=True):
    """What a status is written against, for dialects that show more than the neutral one."""

    children: Children = Children()
    stored: Mapping[str, Any] = {}
    """The status as it stands."""
    now: datetime = datetime.min.replace(tzinfo=UTC)
    create_error: str = ""
    """Why a child could not be made in this pass."""


class Loss(msgspec.Struct, frozen=True):
    """Something that another dialect cannot express, and what becomes of it."""

    path: str
    message: str


class Conversion(msgspec.Struct, frozen=True):
    """A job in another dialect, and what was lost on the way."""

    manifest: dict[str, Any]
    losses: Sequence[Loss] = ()
    origins: Mapping[str, str] = {}
    """Where its parts stood: paths of the translation to paths of what was translated."""


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
    def short_name(self) -> str:
        """What `kubectl get` calls these jobs and no others."""

    @property
    def component(self) -> str:
        """Who tells the events of these jobs."""

    @property
    def workload(self) -> Workload:
        """What runs the replicas of these jobs."""

    @property
    def child_selector(self) -> str:
        """Which objects of a cluster can be children of this dialect's jobs at all."""

    @property
    def job_label(self) -> str:
        """The label by which children name their job."""

    @property
    def companions(self) -> Sequence[ChildApi]:
        """Kinds of objects beside the replicas, but for services."""

    @property
    def shows_children(self) -> bool:
        """The status tells more than the neutral one: it may change when that does not."""

    @property
    def status_fields(self) -> frozenset[str]:
        """What may stand at the top of a status; all else there is somebody else's."""

    def pod_groups(self, settings: Settings) -> ChildApi | None:
        """The PodGroups by which these jobs are gathered, if they are."""

    def validate(self, manifest: Manifest) -> list[Fault]:
        """Every fault of a job as a user wrote it."""

    def unknown_fields(self, manifest: Manifest) -> list[str]:
        """Paths of what an API server keeps of a job although it means nothing here."""

    def decode(self, manifest: Manifest, settings: Settings) -> Job | InvalidJob:
        """What a stored job means."""

    def defaulted_spec(
        self,
        manifest: Manifest,
        settings: Settings,
        *,
        tokens: Iterator[str],
        is_taken: Callable[[str], bool],
    ) -> dict[str, Any] | None:
        """The spec to store before the first child is made; None where it may stay as it is.

        `tokens` are random words of lower-case letters and digits, four characters long;
        `is_taken` knows the names of services that stand in the job's namespace.
        """

    def encode_status(
        self, job: Job | InvalidJob, status: JobStatus, observed: StatusContext
    ) -> dict[str, Any]:
        """The status in the API's own shape."""

    def to_hub(self, manifest: Manifest) -> Conversion:
        """The same job as `kubeflow.org/v1`. The manifest has no faults."""

    def from_hub(self, manifest: Manifest) -> Conversion:
        """A `kubeflow.org/v1` job without faults as this dialect would have it."""

    def crd(self) -> dict[str, Any]:
        """The definition that makes an API server know this API."""
