"""The published causes: why a job does not run or has failed, and what to do about it.

The codes are part of the API: they appear in the status, in events and in the output of commands.
A code is never renamed or reused.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec


class Cause(StrEnum):
    QUOTA_EXCEEDED = "QuotaExceeded"
    POD_SECURITY_VIOLATION = "PodSecurityViolation"
    WEBHOOK_DENIED = "WebhookDenied"
    WEBHOOK_UNAVAILABLE = "WebhookUnavailable"
    SERVICE_ACCOUNT_MISSING = "ServiceAccountMissing"
    INVALID_POD = "InvalidPod"
    INVALID_SPEC = "InvalidSpec"
    SUSPENDED = "Suspended"
    NAME_TAKEN = "NameTaken"
    OLD_POD_TERMINATING = "OldPodTerminating"
    CREATE_REFUSED = "CreateRefused"
    DEADLOCKED = "Deadlocked"
    INSUFFICIENT_RESOURCES = "InsufficientResources"
    NO_MATCHING_NODE = "NoMatchingNode"
    GANG_INCOMPLETE = "GangIncomplete"
    GANG_NOT_ENFORCED = "GangNotEnforced"
    SCHEDULER_SILENT = "SchedulerSilent"
    SCHEDULING_GATED = "SchedulingGated"
    VOLUME_NOT_BOUND = "VolumeNotBound"
    DEVICE_NOT_ALLOCATED = "DeviceNotAllocated"
    UNSCHEDULABLE = "Unschedulable"
    STUCK_TERMINATING = "StuckTerminating"
    IMAGE_NOT_PULLED = "ImageNotPulled"
    CONFIG_MISSING = "ConfigMissing"
    MOUNT_FAILED = "MountFailed"
    SANDBOX_FAILED = "SandboxFailed"
    INIT_CONTAINER_FAILED = "InitContainerFailed"
    CONTAINER_NOT_STARTED = "ContainerNotStarted"
    CONTAINER_NOT_CREATED = "ContainerNotCreated"
    PROBE_FAILED = "ProbeFailed"
    OUT_OF_MEMORY = "OutOfMemory"
    NODE_PRESSURE = "NodePressure"
    PREEMPTED = "Preempted"
    DRAINED = "Drained"
    NODE_LOST = "NodeLost"
    POD_REJECTED = "PodRejected"
    POD_DELETED = "PodDeleted"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    BACKOFF_LIMIT_EXCEEDED = "BackoffLimitExceeded"
    PEER_LOST = "PeerLost"
    NEVER_CONNECTED = "NeverConnected"
    PORT_IN_USE = "PortInUse"
    INVALID_TF_CONFIG = "InvalidTFConfig"
    UNSUPPORTED_STRATEGY = "UnsupportedStrategy"
    MODULE_MISSING = "ModuleMissing"
    ACCELERATOR_FAILED = "AcceleratorFailed"
    ALLOCATION_FAILED = "AllocationFailed"
    DATA_UNAVAILABLE = "DataUnavailable"
    NAN_LOSS = "NaNLoss"
    STALLED = "Stalled"
    PYTHON_ERROR = "PythonError"
    KILLED = "Killed"
    PROGRAM_FAILED = "ProgramFailed"
    UNKNOWN = "Unknown"


class CauseGroup(StrEnum):
    """The stage in which a cause occurs."""

    NOT_CREATED = "not created"
    PENDING = "pending"
    STARTING = "starting"
    KILLED = "killed"
    INSIDE = "inside the program"


class CauseInfo(msgspec.Struct, frozen=True):
    """The stage, what happened, as a text that follows the replica's name, and the remedy."""

    group: CauseGroup
    text: str
    remedy: str


def _in(group: CauseGroup, entries: Mapping[Cause, tuple[str, str]]) -> dict[Cause, CauseInfo]:
    return {cause: CauseInfo(group, text, remedy) for cause, (text, remedy) in entries.items()}


CATALOGUE: Final[Mapping[Cause, CauseInfo]] = {
    **_in(
        CauseGroup.NOT_CREATED,
        {
            Cause.QUOTA_EXCEEDED: (
                "cannot be created: a quota of the namespace is used up",
                (
                    "Free quota by deleting jobs, ask for a larger ResourceQuota, or lower requests"
                    " and replicas."
                ),
            ),
            Cause.POD_SECURITY_VIOLATION: (
                "cannot be created: the namespace's pod security level forbids it",
                (
                    "Set the securityContext that the message asks for, or use a namespace with a"
                    " less strict level."
                ),
            ),
            Cause.WEBHOOK_DENIED: (
                "cannot be created: an admission webhook denies it",
                "Change the pod template as the webhook's message says, or ask its owner.",
            ),
            Cause.WEBHOOK_UNAVAILABLE: (
                "cannot be created: an admission webhook does not answer",
                (
                    "Ask the cluster's administrator to repair or remove the webhook; the operator"
                    " keeps trying."
                ),
            ),
            Cause.SERVICE_ACCOUNT_MISSING: (
                "cannot be created: its ServiceAccount does not exist",
                "Create the ServiceAccount, or correct serviceAccountName in the template.",
            ),
            Cause.INVALID_POD: (
                "cannot be created: the API server finds its template invalid",
                "Correct the field that the message names; `tfjob validate` checks a file offline.",
            ),
            Cause.INVALID_SPEC: (
                "cannot run: its spec is invalid",
                "Correct the fields that the message names and submit the job again.",
            ),
            Cause.SUSPENDED: (
                "is suspended",
                "Run `tfjob resume`, or wait until the queue that holds the job admits it.",
            ),
            Cause.NAME_TAKEN: (
                "cannot be created: an object of another owner has its name",
                "Delete the other object, or rename the job; for a TfJob, change its RuntimeId.",
            ),
            Cause.OLD_POD_TERMINATING: (
                "cannot be created: an object of an earlier job of this name still terminates",
                (
                    "Wait until it is gone; if its node is lost, delete it with --grace-period=0"
                    " --force."
                ),
            ),
            Cause.CREATE_REFUSED: (
                "cannot be created: the API server refuses it",
                "Act on the API server's message; the operator keeps trying.",
            ),
        },
    ),
    **_in(
        CauseGroup.PENDING,
        {
            Cause.DEADLOCKED: (
                "holds nodes and waits for more, as another job does",
                "Suspend one of them until the other has ended; a gang scheduler prevents it.",
            ),
            Cause.INSUFFICIENT_RESOURCES: (
                "is pending: no node has enough free resources",
                "Wait for other pods to end, lower the requests, or add nodes.",
            ),
            Cause.NO_MATCHING_NODE: (
                "is pending: no node satisfies its placement rules",
                (
                    "Check nodeSelector, affinity and tolerations against the labels and taints of"
                    " the nodes."
                ),
            ),
            Cause.GANG_INCOMPLETE: (
                "waits: the gang scheduler cannot place all its pods together",
                "Wait for resources or for the queue, or lower replicas, requests or minAvailable.",
            ),
            Cause.GANG_NOT_ENFORCED: (
                "is not scheduled as a gang: the API server dropped spec.schedulingGroup of a pod",
                "Ask for the feature gates GenericWorkload and GangScheduling on all API servers.",
            ),
            Cause.SCHEDULER_SILENT: (
                "is pending: no scheduler has taken it up",
                "Check that the scheduler of that name runs, and that the queue exists.",
            ),
            Cause.SCHEDULING_GATED: (
                "is pending: a scheduling gate holds it",
                "Wait for the controller that set it, or remove schedulingGates in the template.",
            ),
            Cause.VOLUME_NOT_BOUND: (
                "is pending: a PersistentVolumeClaim is missing or not bound",
                "Create the claim, or check its storage class and access mode.",
            ),
            Cause.DEVICE_NOT_ALLOCATED: (
                "is pending: a device claim is not allocated",
                "Check the ResourceClaim and whether a driver on some node offers such a device.",
            ),
            Cause.UNSCHEDULABLE: (
                "is pending: the scheduler cannot place it",
                "Act on the scheduler's message.",
            ),
            Cause.STUCK_TERMINATING: (
                "waits for its old pod, which does not terminate",
                (
                    "Check whether the node still runs; if it does not, delete the pod with"
                    " --grace-period=0 --force."
                ),
            ),
        },
    ),
    **_in(
        CauseGroup.STARTING,
        {
            Cause.IMAGE_NOT_PULLED: (
                "cannot start: its image cannot be pulled",
                "Check the image's name and tag, the registry, and imagePullSecrets.",
            ),
            Cause.CONFIG_MISSING: (
                "cannot start: its container refers to something that does not exist",
                (
                    "Create the ConfigMap, Secret or key that the message names, or correct the"
                    " template."
                ),
            ),
            Cause.MOUNT_FAILED: (
                "cannot start: a volume cannot be mounted",
                "Check the volume, and whether another node still has it attached.",
            ),
            Cause.SANDBOX_FAILED: (
                "cannot start: the node cannot create its sandbox",
                "Ask the administrator to check the network plugin and runtime of the node.",
            ),
            Cause.INIT_CONTAINER_FAILED: (
                "did not start: an init container failed",
                "Read the log of the init container.",
            ),
            Cause.CONTAINER_NOT_STARTED: (
                "cannot start: its command cannot be executed",
                (
                    "Check command and args: the file must exist where the container runs and be"
                    " executable."
                ),
            ),
            Cause.CONTAINER_NOT_CREATED: (
                "cannot start: its node cannot create its container",
                "Act on the message of the node, for example by correcting the securityContext.",
            ),
            Cause.PROBE_FAILED: (
                "was restarted: its liveness or startup probe failed",
                "Give the probe more time, or remove it: training can block a process for long.",
            ),
        },
    ),
    **_in(
        CauseGroup.KILLED,
        {
            Cause.OUT_OF_MEMORY: (
                "was killed: out of memory",
                "Raise the memory limit, or use smaller batches and caches.",
            ),
            Cause.NODE_PRESSURE: (
                "was evicted: its node ran short of a resource",
                "Set requests that match the use, also for ephemeral-storage.",
            ),
            Cause.PREEMPTED: (
                "was preempted by a pod of higher priority",
                "Nothing to do where the job restarts; a higher priorityClassName prevents it.",
            ),
            Cause.DRAINED: (
                "was evicted, usually by the drain of its node",
                "Nothing to do where the job restarts; save checkpoints often.",
            ),
            Cause.NODE_LOST: (
                "was lost with its node",
                "Nothing to do where the job restarts; ask the administrator about the node.",
            ),
            Cause.POD_REJECTED: (
                "was rejected by its node",
                (
                    "Act on the message of the node; the replica is placed again where the job"
                    " restarts."
                ),
            ),
            Cause.POD_DELETED: (
                "was deleted by somebody",
                "Nothing to do where the job restarts; the audit log tells who deleted it.",
            ),
            Cause.DEADLINE_EXCEEDED: (
                "ran longer than its deadline",
                "Raise activeDeadlineSeconds, or look for what made the job slow.",
            ),
            Cause.BACKOFF_LIMIT_EXCEEDED: (
                "failed more often than its backoffLimit allows",
                (
                    "Repair what makes the replicas fail; raise backoffLimit only if the failures"
                    " are transient."
                ),
            ),
        },
    ),
    **_in(
        CauseGroup.INSIDE,
        {
            Cause.PEER_LOST: (
                "lost another replica and ended",
                (
                    "Look at why the other replica ended; with restartPolicy OnFailure or ExitCode"
                    " the job goes on."
                ),
            ),
            Cause.NEVER_CONNECTED: (
                "could not connect to the other replicas",
                (
                    "Check DNS, NetworkPolicy and proxy variables (set no_proxy), and that all"
                    " replicas run."
                ),
            ),
            Cause.PORT_IN_USE: (
                "could not open its port",
                "Choose another port, or do not use hostNetwork for two replicas on one node.",
            ),
            Cause.INVALID_TF_CONFIG: (
                "ended: TensorFlow does not accept its TF_CONFIG",
                "Check the replica types against the strategy; `tfjob plan` shows the TF_CONFIG.",
            ),
            Cause.UNSUPPORTED_STRATEGY: (
                "ended: its Keras does not support its distribution strategy",
                "Set TF_USE_LEGACY_KERAS=1 and install tf_keras, or write a custom training loop.",
            ),
            Cause.MODULE_MISSING: (
                "ended: a Python module is missing",
                "Add the module to the image, or correct the import.",
            ),
            Cause.ACCELERATOR_FAILED: (
                "ended: its accelerator or the driver failed",
                (
                    "Check that driver, CUDA and NCCL of image and node match, and that the job"
                    " requests a GPU."
                ),
            ),
            Cause.DATA_UNAVAILABLE: (
                "ended: it could not read or write data",
                "Check paths, permissions, mounted volumes and free disk space.",
            ),
            Cause.ALLOCATION_FAILED: (
                "ended: it could not allocate memory",
                (
                    "Use smaller batches or a smaller model; where processes share a GPU, set"
                    " TF_FORCE_GPU_ALLOW_GROWTH=true."
                ),
            ),
            Cause.NAN_LOSS: (
                "ended: its loss or a tensor is not a number",
                "Lower the learning rate, clip gradients, and check the data for invalid values.",
            ),
            Cause.STALLED: (
                "does nothing: no replica uses the CPU or prints anything",
                (
                    "Look at what the program waits for, such as a lock, a queue or an answer"
                    " without a timeout; `tfjob restart` starts the replicas again."
                ),
            ),
            Cause.PYTHON_ERROR: (
                "ended with a Python error",
                "Read the last lines, and `tfjob logs` for all of them.",
            ),
            Cause.KILLED: (
                "was killed by a signal",
                "Look at the events of the pod and of its node.",
            ),
            Cause.PROGRAM_FAILED: (
                "ended with an error",
                "Read the last lines, and `tfjob logs` for all of them.",
            ),
            Cause.UNKNOWN: (
                "failed for an unknown reason",
                "Look at the evidence and at the events of the pod.",
            ),
        },
    ),
}

BLOCKING: Final = frozenset(
    cause
    for cause, info in CATALOGUE.items()
    if info.group in {CauseGroup.NOT_CREATED, CauseGroup.PENDING, CauseGroup.STARTING}
) - {Cause.INIT_CONTAINER_FAILED, Cause.INVALID_SPEC, Cause.PROBE_FAILED} | {Cause.STALLED}
"""Causes that keep a replica waiting. They are over once it runs; all others are incidents."""
DISRUPTIONS: Final = frozenset(
    {
        Cause.NODE_PRESSURE,
        Cause.PREEMPTED,
        Cause.DRAINED,
        Cause.NODE_LOST,
        Cause.POD_REJECTED,
        Cause.POD_DELETED,
    }
)
"""Causes outside the program, which make its exit code meaningless."""
