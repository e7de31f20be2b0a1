"""The neutral job: what a job of any dialect means, as immutable values.

Dialects build it, and the policies of the core read it. Differences between dialects are fields
here: the core never branches on the dialect.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Any

import msgspec

from tfjob.core.exit_codes import ExitCodes
from tfjob.core.messages import Messages
from tfjob.core.scheduling_spec import GangSpec, QueueSpec
from tfjob.core.status import JobStatus

TRAINING_CONTAINER = "tensorflow"
FINALIZER = "kubeflow.org/tfjob-result"
"""The result finalizer: keeps a decisive pod until its result is stored, if that is enabled."""
MAX_REPLICAS = 5_000
"""The most replicas of a job, over all types. TF_CONFIG lists all of them in one environment
variable, which holds hardly more even if their names are as short as possible."""


class RestartPolicy(StrEnum):
    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"
    EXIT_CODE = "ExitCode"


class CleanPolicy(StrEnum):
    NONE = "None"
    RUNNING = "Running"
    ALL = "All"


class Workload(StrEnum):
    """What runs a replica: a pod, or a batch Job that creates the pods."""

    POD = "Pod"
    JOB = "Job"


class Recovery(StrEnum):
    """What happens to the other replicas when one is lost."""

    AUTO = "Auto"
    """A replica that ends as a consequence is restarted, which does not count."""
    GROUP = "Group"
    """The replicas of its group are restarted with it at once, which does not count."""
    REPLICA = "Replica"
    """Each replica is judged by its own exit code alone."""


class ServicePort(msgspec.Struct, frozen=True):
    name: str
    port: int
    protocol: str = ""


class ReplicaType(msgspec.Struct, frozen=True):
    """One replica type: how many replicas, their pod template, and the names of their children."""

    type: str
    label: str
    count: int
    restart: RestartPolicy
    pod_restart_policy: str
    template: Mapping[str, Any]
    name_prefix: str
    host_suffix: str
    port: int
    pod_labels: Mapping[str, str]
    service_labels: Mapping[str, str]
    selector: Mapping[str, str]
    service_ports: Sequence[ServicePort]
    task: str
    default_labels: Mapping[str, str] = {}
    status_selector: str = ""
    is_in_cluster: bool = True
    tolerates_failure: bool = False
    restarts_on_success: bool = False
    overrides_template_policy: bool = False
    has_cluster_ip: bool = False
    """Its services are not headless."""
    commands: Sequence[Sequence[str]] = ()

    def name(self, index: int) -> str:
        return f"{self.name_prefix}{index}"

    def address(self, index: int) -> str:
        return f"{self.name_prefix}{index}{self.host_suffix}:{self.port}"


class SuccessCriterion(msgspec.Struct, frozen=True):
    """The decisive replicas, whose success is the job's success.

    These are all replicas of `types`. With an `index`, the success of that replica of the first
    type is enough.
    """

    types: tuple[str, ...] = ()
    index: int | None = None

    def includes(self, kind: str, index: int) -> bool:
        if kind not in self.types:
            return False
        return self.index is None or index == self.index


class LabelKeys(msgspec.Struct, frozen=True):
    """The label keys for the type and index of a replica, and the labels of leader pods.

    The `default_` labels are set on pods only, and only where the template does not set them.
    """

    type: str
    index: str
    leader: tuple[str, str] | None = None
    leaders: SuccessCriterion = SuccessCriterion()
    default_index: str | None = None
    default_leader: tuple[str, str] | None = None


class TFConfig(msgspec.Struct, frozen=True):
    """The format of the TF_CONFIG variable, which is not set unless `is_enabled`."""

    is_enabled: bool = True
    is_dynamic: bool = False
    environment: str | None = "cloud"
    lists_empty_types: bool = True
    replaces_user_value: bool = False
    is_in_every_training_container: bool = False


class Semantics(msgspec.Struct, frozen=True):
    """How failures, restarts and the completion of a job are decided."""

    success_criterion: SuccessCriterion
    exit_codes: ExitCodes
    only_decisive_replica_fails_job: bool = False
    backoff_limit_fails_job: bool = True
    backoff_limit_counts_container_restarts: bool = True
    never_policy_survives_disruption: bool = False
    success_before_deadline: bool = False
    success_before_suspension: bool = False
    suspend_keeps_services: bool = False
    counts_evictions: bool = False
    recovery: Recovery = Recovery.AUTO
    max_restart_delay: timedelta = timedelta(minutes=5)
    force_delete_after: timedelta | None = None
    runs_whole: bool = False
    """The job counts as running only once all its replicas run."""
    holds_decisive_pods: bool = False
    """Decisive pods get the result finalizer."""


class RunPolicy(msgspec.Struct, frozen=True):
    clean: CleanPolicy = CleanPolicy.NONE
    ttl: timedelta | None = None
    deadline: timedelta | None = None
    backoff_limit: int | None = None
    is_suspended: bool = False
    evaluator_grace: timedelta = timedelta()
    """How long evaluators may outlive the training."""


class Companion(msgspec.Struct, frozen=True):
    """A child that belongs to no replica, such as a TensorBoard or the ConfigMap of a script."""

    kind: str
    name: str
    manifest: Mapping[str, Any]
    enforced_spec: Mapping[str, Any] = {}
    """Spec fields that are patched whenever they differ; the others are only set on creation."""


class Owner(msgspec.Struct, frozen=True):
    """The job object that the owner references of its children name."""

    api_version: str
    kind: str
    name: str
    namespace: str
    uid: str

    def reference(self) -> dict[str, Any]:
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }


class Job(msgspec.Struct, frozen=True):
    """One job. `child_labels` are the labels that all its children have."""

    owner: Owner
    replicas: Sequence[ReplicaType]
    labels: LabelKeys
    semantics: Semantics
    messages: Messages
    policy: RunPolicy = RunPolicy()
    tf_config: TFConfig = TFConfig()
    workload: Workload = Workload.POD
    gang: GangSpec | None = None
    queue: QueueSpec | None = None
    companions: Sequence[Companion] = ()
    annotations: Mapping[str, str] = {}
    child_labels: Mapping[str, str] = {}
    warnings: Sequence[tuple[str, str]] = ()
    notices: Sequence[tuple[str, str]] = ()
    """Reasons and messages of Warning and Normal events, recorded at most once per object."""
    status: JobStatus = JobStatus()
    keeps_last_lines: bool = True
    """A failed training container reports its last output, unless the template sets a policy."""
    is_external: bool = False
    is_deleting: bool = False

    @property
    def name(self) -> str:
        return self.owner.name

    @property
    def namespace(self) -> str:
        return self.owner.namespace

    @property
    def is_ignored(self) -> bool:
        """The operator does not act on the job."""
        return self.is_external or self.is_deleting

    @property
    def total(self) -> int:
        return sum(replica.count for replica in self.replicas)

    def in_status_order(self) -> list[ReplicaType]:
        """The replica types in the order of the status; they are evaluated in the same order."""
        return sorted(self.replicas, key=lambda replica: replica.type)
