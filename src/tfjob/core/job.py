"""The neutral job: what every dialect means, as plain values.

A dialect fills these in and the policies read them; what differs between dialects is data here,
never a branch on the dialect. Nothing in a Job is ever changed in place.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Any

import msgspec

from tfjob.core.gang_spec import GangSpec
from tfjob.core.messages import Messages
from tfjob.core.status import JobStatus

TRAINING_CONTAINER = "tensorflow"
MAX_REPLICAS = 5_000
"""All replicas of a job. TF_CONFIG names each of them in one environment variable: with names of
usual length it has room for fewer, and with the shortest for hardly more."""


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
    """What runs a replica: a pod of ours, or a batch Job that makes its own pods."""

    POD = "Pod"
    JOB = "Job"


class ExitCodes(msgspec.Struct, frozen=True):
    """Which ends of the training container are worth another try."""

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


class ServicePort(msgspec.Struct, frozen=True):
    name: str
    port: int
    protocol: str = ""


class Replica(msgspec.Struct, frozen=True):
    """One replica type: how many, from which template, and how its children are called."""

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
    """Its services have an address of their own, and not those of the pods behind them."""
    commands: Sequence[Sequence[str]] = ()

    def name(self, index: int) -> str:
        return f"{self.name_prefix}{index}"

    def address(self, index: int) -> str:
        return f"{self.name_prefix}{index}{self.host_suffix}:{self.port}"


class SuccessCriterion(msgspec.Struct, frozen=True):
    """Whose success is the job's: all replicas of `types`, or the replica `index` of the first."""

    types: tuple[str, ...] = ()
    index: int | None = None

    def includes(self, kind: str, index: int) -> bool:
        if kind not in self.types:
            return False
        return self.index is None or index == self.index


class LabelKeys(msgspec.Struct, frozen=True):
    """Where a child's replica type and index are written, and the mark of a leading pod.

    The `weak` ones are written on pods only, and only where the template says nothing.
    """

    type: str
    index: str
    leader: tuple[str, str] | None = None
    leaders: SuccessCriterion = SuccessCriterion()
    default_index: str | None = None
    default_leader: tuple[str, str] | None = None


class TFConfig(msgspec.Struct, frozen=True):
    """The form of the TF_CONFIG variable; absent when not `is_enabled`."""

    is_enabled: bool = True
    is_dynamic: bool = False
    environment: str | None = "cloud"
    lists_empty_types: bool = True
    replaces_user_value: bool = False
    is_in_every_training_container: bool = False


class Rules(msgspec.Struct, frozen=True):
    """How failures, restarts and the end of a job are judged."""

    success_criterion: SuccessCriterion
    exit_codes: ExitCodes
    only_decisive_replica_fails_job: bool = False
    budget_ends_job: bool = True
    budget_counts_container_restarts: bool = True
    never_policy_survives_disruption: bool = False
    success_before_deadline: bool = False
    success_before_suspension: bool = False
    suspend_keeps_services: bool = False
    counts_evictions: bool = False
    max_restart_delay: timedelta = timedelta(minutes=5)
    force_delete_after: timedelta | None = None


class RunPolicy(msgspec.Struct, frozen=True):
    clean: CleanPolicy = CleanPolicy.NONE
    ttl: timedelta | None = None
    deadline: timedelta | None = None
    backoff_limit: int | None = None
    is_suspended: bool = False


class Companion(msgspec.Struct, frozen=True):
    """An object that lives beside the replicas (TensorBoard, a script's ConfigMap)."""

    kind: str
    name: str
    manifest: Mapping[str, Any]
    kept: Mapping[str, Any] = {}
    """Fields of its spec that follow the job for as long as both are there."""


class Owner(msgspec.Struct, frozen=True):
    """The job object as its children name it."""

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
    """One job. `claim` are the labels by which all its children are told from others."""

    owner: Owner
    replicas: Sequence[Replica]
    labels: LabelKeys
    rules: Rules
    messages: Messages
    policy: RunPolicy = RunPolicy()
    tf_config: TFConfig = TFConfig()
    workload: Workload = Workload.POD
    gang: GangSpec | None = None
    companions: Sequence[Companion] = ()
    annotations: Mapping[str, str] = {}
    claim: Mapping[str, str] = {}
    warnings: Sequence[tuple[str, str]] = ()
    notices: Sequence[tuple[str, str]] = ()
    """Reasons and messages that its user is told once while it lives, ill news and others."""
    status: JobStatus = JobStatus()
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
        return self.is_external or self.is_deleting

    @property
    def total(self) -> int:
        return sum(replica.count for replica in self.replicas)

    def in_status_order(self) -> list[Replica]:
        """The fixed order in which types are judged and named in messages."""
        return sorted(self.replicas, key=lambda replica: replica.type)
