"""The schema of these jobs, including older spellings of fields, so that none is pruned.

Pod templates are stored as written; only the fields that the rules need are declared.
"""

from tfjob.dialects import diagnosis_field
from tfjob.dialects.schema import (
    Schema,
    array,
    boolean,
    integer,
    moment,
    pod_metadata,
    record,
    ruled,
    text,
    with_remedies,
)
from tfjob.dialects.tensorstack import api, cel_rules, validation_messages
from tfjob.dialects.tensorstack.validation_messages import MAX_REPLICAS

_MAX_ENTRIES = 10
"""More than there are types, so that an unknown type gets an error that names it."""
_MAX_FILESETS = 100
_MAX_CONTAINERS = 100
_MAX_PRIORITY = 100
_INT64 = 2**63 - 1
_MAX_TEXT_LENGTH = 1024


def schema() -> Schema:
    """The whole object."""
    return record(
        "A distributed TensorFlow training job of the T9k platform.",
        {
            "apiVersion": text(f"Always {api.API_VERSION}."),
            "kind": text(f"Always {api.KIND}."),
            "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
            "spec": spec(),
            "status": _status(),
        },
        required=["spec"],
        rules=cel_rules.of_object(),
    )


def spec() -> Schema:
    return record(
        "The desired state of the job. Immutable, except for runMode.pause.enabled and"
        " tensorboardSpec.suspend.",
        {
            "replicaSpecs": with_remedies(
                ruled(
                    {
                        **array("One entry per replica type.", _replica(), at_most=_MAX_ENTRIES),
                        "minItems": 1,
                    },
                    cel_rules.of_replicas(),
                ),
                absent=(validation_messages.NO_REPLICAS, validation_messages.NO_REPLICAS_REMEDY),
            ),
            "runPolicy": _run_policy(),
            "scheduler": record(
                "The scheduler of the pods; absent means the one that their template names.",
                {"t9kScheduler": _t9k_scheduler()},
            ),
            "runMode": run_mode(),
            "tensorboardSpec": board(),
        },
        required=["replicaSpecs"],
        rules=cel_rules.of_spec(),
    )


def _replica() -> Schema:
    return record(
        "One replica type.",
        {
            "type": with_remedies(
                text("The replica type: chief, worker, ps or evaluator.", among=api.TYPES),
                absent=(validation_messages.REQUIRED, validation_messages.NO_TYPE_REMEDY),
            ),
            "replicas": integer("Number of replicas, 1 if absent.", at_most=MAX_REPLICAS),
            "restartPolicy": text(
                "When a new pod replaces one that has ended: Never (default), OnFailure, Always, or"
                " ExitCode: after exit codes 130, 137, 138 and 143, or if its node is lost.",
                among=api.RESTART_POLICIES,
            ),
            "template": _template(),
        },
        required=["type", "template"],
        rules=cel_rules.of_replica(),
    )


def _template() -> Schema:
    return record(
        "The pod template of a replica. It needs a container named tensorflow.",
        {
            "metadata": pod_metadata(),
            "spec": record(
                "A PodSpec; all fields that the API server knows for pods are allowed. Its"
                " restartPolicy is ignored: the pods get Never.",
                {"containers": _containers()},
                keeps_unknown=True,
            ),
        },
    )


def _containers() -> Schema:
    container = record(
        "One container.",
        {
            "name": text("Name; the container tensorflow determines the state of the replica."),
            "image": text("Image to run."),
            "env": array(
                "Environment variables; TF_CONFIG is added or replaced.",
                record(
                    "One environment variable.",
                    {"name": text("Name of the variable.")},
                    keeps_unknown=True,
                ),
            ),
        },
        keeps_unknown=True,
        rules=cel_rules.of_container(),
    )
    return array("Containers of the pod.", container, at_most=_MAX_CONTAINERS)


def _run_policy() -> Schema:
    clean_up = (
        "Which pods are deleted when the job finishes: None (default), All, or Unfinished: those"
        " that have not ended."
    )
    return record(
        "How the job runs and finishes.",
        {
            "activeDeadlineSeconds": integer(
                "Seconds after startTime after which an unfinished job fails.",
                at_least=1,
                at_most=_INT64,
            ),
            "backoffLimit": integer(
                "Restarts of all replicas together after which no replica is restarted; absent"
                " means no limit."
            ),
            "cleanUpPolicy": _clean_up(clean_up),
            "cleanPodPolicy": _clean_up("Older name of cleanUpPolicy, used if that is absent."),
        },
    )


def _clean_up(about: str) -> Schema:
    return ruled({**text(about), "maxLength": _MAX_TEXT_LENGTH}, cel_rules.of_clean_up())


def _t9k_scheduler() -> Schema:
    return record(
        "Schedules all pods of the job together with t9k-scheduler.",
        {
            "queue": text("Queue of the PodGroup."),
            "priority": integer(
                "Priority of the job in its queue, from 0 (default) to 100.",
                at_most=_MAX_PRIORITY,
            ),
        },
        rules=cel_rules.of_scheduler(),
    )


def run_mode() -> Schema:
    older = boolean("Older name of enabled, used if that is absent.")
    return record(
        "Debugging and pausing of the job.",
        {
            "debug": record(
                "Starts the pods with another command, so that they do not train.",
                {
                    "enabled": boolean("If true, new pods start in debug mode."),
                    "enable": older,
                    "replicaSpecs": _starts(
                        "How pods start in debug mode, by replica type.",
                        {"command": _texts("Replaces the command; absent means sleep inf.")},
                    ),
                },
            ),
            "pause": record(
                "Pauses the job: all pods are deleted until it is resumed.",
                {
                    "enabled": boolean("True pauses the job, false resumes it."),
                    "enable": older,
                    "resumeSpecs": _starts(
                        "How pods start after a pause, by replica type.",
                        {
                            "command": _texts("Replaces the template's command."),
                            "args": _texts("Replaces the template's args."),
                        },
                    ),
                },
            ),
        },
    )


def _starts(about: str, fields: Schema) -> Schema:
    entry = record(
        "One replica type.",
        {
            "type": {**text("The replica type."), "maxLength": _MAX_TEXT_LENGTH},
            "skipInitContainer": boolean("If true, the pods have no init containers."),
            **fields,
        },
        required=["type"],
    )
    return ruled(array(about, entry, at_most=_MAX_ENTRIES), cel_rules.of_modes())


def board() -> Schema:
    fileset = ruled({"type": "string", "maxLength": _MAX_TEXT_LENGTH}, cel_rules.of_fileset())
    return record(
        "Requests a TensorBoard for the job, which stays until the job is deleted.",
        {
            "image": text("Image of TensorBoard."),
            "trainingLogFilesets": array(
                "Locations of the event files, such as t9k://pvc/<pvc>/<path>.",
                fileset,
                at_most=_MAX_FILESETS,
            ),
            "logDir": _log_dir(),
            "suspend": boolean("If true, the pod of TensorBoard is deleted until it is false."),
            "scheduler": record(
                "The scheduler of its pod.",
                {
                    "t9kScheduler": record(
                        "Schedules the pod with t9k-scheduler.",
                        {"queue": text("Queue of its pod.")},
                    )
                },
            ),
            "resources": record("Resources of its container.", {}, keeps_unknown=True),
        },
        keeps_unknown=True,
        rules=cel_rules.of_board(),
    )


def _log_dir() -> Schema:
    return record(
        "Locations of the event files, by kind of storage.",
        {
            "pvc": array(
                "PersistentVolumeClaims with event files.",
                record(
                    "One PersistentVolumeClaim.",
                    {
                        "name": with_remedies(
                            {**text("Name of the claim."), "minLength": 1},
                            remedy=validation_messages.NO_CLAIM_REMEDY,
                            absent=(
                                validation_messages.REQUIRED,
                                validation_messages.NO_CLAIM_REMEDY,
                            ),
                        ),
                        "subPath": _texts("Folders in the claim; absent means all of it."),
                    },
                    required=["name"],
                ),
            ),
            "s3": record(
                "S3 buckets with event files.",
                {
                    "secretRef": record(
                        "The Secret with the credentials.", {"name": text("Name of the Secret.")}
                    ),
                    "uri": _texts("URIs of the event files."),
                },
            ),
            "http": record(
                "HTTP servers with event files.", {"url": _texts("URLs of the event files.")}
            ),
        },
    )


def _texts(about: str) -> Schema:
    return array(about, {"type": "string"})


def _status() -> Schema:
    aggregate = {phase.lower(): integer("Replicas in this phase.") for phase in api.AGGREGATE}
    return record(
        "The observed state of the job, written by the operator.",
        {
            "phase": text("Pending, Running, Paused, Resuming, Succeeded, Failed or Unknown."),
            "conditions": array("The conditions of the job.", _condition()),
            "tasks": array("The state of the replicas, by type.", _task()),
            "backoffCount": integer("Restarts of all replicas so far."),
            "aggregate": record("The number of replicas in each phase.", aggregate),
            "tensorboard": record("The state of TensorBoard.", {}, keeps_unknown=True),
            "startTime": moment("When all pods had been created, or created again after a pause."),
            "progress": text("Running or Restarting: the last state of an unfinished job."),
            "limitReached": text("The limit that failed the job: BackoffLimit or ActiveDeadline."),
            "trainingCompletionTime": moment(
                "When training had succeeded and the job began to wait for its evaluator."
            ),
            diagnosis_field.NAME: diagnosis_field.schema(),
        },
        keeps_unknown=True,
    )


def _condition() -> Schema:
    return record(
        "One condition of the job.",
        {
            "type": text(f"{', '.join(api.CONDITIONS[:-1])} or {api.CONDITIONS[-1]}."),
            "status": text("True, False or Unknown."),
            "reason": text("Why the condition has this status, as one word for programs."),
            "message": text("Why the condition has this status, as a sentence."),
            "lastTransitionTime": moment("When its status last changed."),
        },
        required=["type", "status"],
        keeps_unknown=True,
    )


def _task() -> Schema:
    return record(
        "The state of the replicas of one type.",
        {
            "type": text("The replica type."),
            "restartCount": integer("Restarts of replicas of this type so far."),
            "replicas": array(
                "One entry per replica.",
                record(
                    "One replica: name, UID and phase of its pod, and its containers.",
                    {
                        "name": text("Name of the pod."),
                        "phase": text("The phase of the pod, or Creating or Deleted."),
                    },
                    keeps_unknown=True,
                ),
            ),
            "completedIndexes": text("Indexes of succeeded replicas, such as 0,2-4."),
            "recentRestarts": array(
                "Decisions about pods, by UID.",
                record("The decision about one pod.", {}, keeps_unknown=True),
            ),
        },
        keeps_unknown=True,
    )
