"""The interface of a dialect: one job API, converted to and from the neutral job.

Dialects are pure. They return faults and never raise, whatever the user wrote.
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
    """Settings from the operator's flags and environment that apply to every job."""

    default_clean_pod_policy: str = "None"
    exit_code_table: str = "default"
    has_legacy_labels: bool = False
    has_evaluator_in_cluster: bool = False
    keeps_last_lines: bool = True
    recovery: str = "Auto"
    cluster_domain: str = ""
    gang_scheduler_name: str = ""
    pod_group_version: str = ""
    """The version of PodGroups in scheduling.k8s.io that the cluster serves."""
    has_kueue_pod_groups: bool = False
    force_delete_after: timedelta | None = None
    has_result_finalizers: bool = False
    options: Mapping[str, Any] = {}
    """Values of dialect-specific flags, by flag name."""
    served: frozenset[str] = frozenset()
    """Optional APIs that the cluster serves, as `group/version/plural`."""


class ChildApi(msgspec.Struct, frozen=True):
    """The API of a kind of child."""

    kind: str
    group: str
    version: str
    plural: str
    is_optional: bool = False
    """The dialect also works on clusters that do not serve it."""

    @property
    def name(self) -> str:
        return f"{self.group}/{self.version}/{self.plural}"


class StatusContext(msgspec.Struct, frozen=True):
    """What a dialect's status may contain besides the neutral status."""

    children: Children = Children()
    stored: Mapping[str, Any] = {}
    """The status as currently stored."""
    now: datetime = datetime.min.replace(tzinfo=UTC)
    create_error: str = ""
    """Why a child could not be created in this reconcile."""
    read_spec: Callable[[], Mapping[str, Any]] = dict
    """Reads the spec as currently stored."""


class Loss(msgspec.Struct, frozen=True):
    """A field that the other dialect cannot express, and what happens instead."""

    path: str
    message: str


class LogFolder(msgspec.Struct, frozen=True):
    """A folder of a PersistentVolumeClaim; an empty path is its root."""

    claim: str
    path: str


class BeyondHub(msgspec.Struct, frozen=True):
    """What a job says that `kubeflow.org/v1` cannot say, for targets that can."""

    log_folders: Sequence[LogFolder] = ()
    """What its TensorBoard shows; without folders there is no TensorBoard."""
    tensorboard_image: str = ""
    recreated: frozenset[str] = frozenset()
    """Replica types of the hub whose replicas are restarted by a new pod, not in place."""
    retryable_codes: str = ""
    """The exit codes that are retryable under ExitCode, if they are not those of the hub."""


NOTHING_BEYOND = BeyondHub()


class Conversion(msgspec.Struct, frozen=True):
    """A job converted to another dialect, and the losses."""

    manifest: dict[str, Any]
    losses: Sequence[Loss] = ()
    origins: Mapping[str, str] = {}
    """Maps paths in the converted job to paths in the original."""
    beyond: BeyondHub = NOTHING_BEYOND


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
        """The unique short name for `kubectl get`."""

    @property
    def component(self) -> str:
        """The source component of events about these jobs."""

    @property
    def workload(self) -> Workload:
        """What runs the replicas of these jobs."""

    @property
    def child_selector(self) -> str:
        """Label selector of all objects that can be children of these jobs."""

    @property
    def job_label(self) -> str:
        """The label of children that holds the name of their job."""

    @property
    def companions(self) -> Sequence[ChildApi]:
        """The kinds of companions, except services."""

    @property
    def shows_children(self) -> bool:
        """The status depends on children, so it may change when the neutral status does not."""

    @property
    def status_fields(self) -> frozenset[str]:
        """The top-level status fields that the operator owns."""

    @property
    def generated_fields(self) -> frozenset[str]:
        """The fields of the spec that the operator generates for each job; a copy needs its own."""

    def pod_groups(self, settings: Settings) -> ChildApi | None:
        """The API of the PodGroups for these jobs, if gang scheduling is on."""

    def validate(self, manifest: Manifest) -> list[Fault]:
        """All faults of a job as written by its user."""

    def unknown_fields(self, manifest: Manifest) -> list[str]:
        """Paths of fields that an API server stores but that have no meaning."""

    def decode(
        self, manifest: Manifest, settings: Settings, *, is_checked: bool = False
    ) -> Job | InvalidJob:
        """Decode a stored job.

        With `is_checked`, the rules of the CRD are known to hold and are not evaluated again.
        """

    def with_status(self, job: Job, manifest: Manifest) -> Job | None:
        """A decoded job with the status of a manifest that is unchanged otherwise; None if more of
        the job depends on its status."""

    def defaulted_spec(
        self,
        manifest: Manifest,
        settings: Settings,
        *,
        tokens: Iterator[str],
        is_taken: Callable[[str], bool],
    ) -> dict[str, Any] | None:
        """The spec with defaults to store before the first child is created, or None.

        `tokens` are random strings of four lower-case letters and digits; `is_taken` tells whether
        the job's namespace has a service of a name.
        """

    def encode_status(
        self, job: Job | InvalidJob, status: JobStatus, observed: StatusContext
    ) -> dict[str, Any]:
        """Encode the status in the format of this API."""

    def to_hub(self, manifest: Manifest, *, target: str = "") -> Conversion:
        """Convert a job without faults to `kubeflow.org/v1`.

        `target` is the API version that the user asked for, if it is another one: losses name it,
        and what it can express is no loss.
        """

    def from_hub(self, manifest: Manifest, beyond: BeyondHub = NOTHING_BEYOND) -> Conversion:
        """Convert a `kubeflow.org/v1` job without faults to this dialect."""

    def crd(self) -> dict[str, Any]:
        """The CustomResourceDefinition of this API."""
