"""The schema of these jobs, including older spellings of fields, so that none is pruned.

Pod templates are stored as written; only the fields that the rules need are declared.
"""

from tfjob.dialects import diagnosis_field
from tfjob.dialects.schema import (
    Schema,
    array,
    boolean,
    hinted,
    integer,
    moment,
    pod_metadata,
    record,
    ruled,
    text,
)
from tfjob.dialects.tensorstack import api, cel_rules, hints, validation_messages
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
        "What shall run. Only runMode.pause.enabled and tensorboardSpec.suspend can change later.",
        {
            "replicaSpecs": ruled(
                {**array("The replicas.", _replica(), at_most=_MAX_ENTRIES), "minItems": 1},
                cel_rules.of_replicas(),
            ),
            "runPolicy": _run_policy(),
            "scheduler": record(
                "Who places the pods; absent means the scheduler of the cluster.",
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
            "type": hinted(
                text("Role of the replicas.", among=api.TYPES),
                absent=(validation_messages.REQUIRED, hints.NO_TYPE),
            ),
            "replicas": integer("How many, 1 where absent.", at_most=MAX_REPLICAS),
            "restartPolicy": text(
                "When a replica that ended is made again: Never (default), OnFailure, Always, or"
                " ExitCode: after 130, 137, 138 and 143.",
                among=api.RESTART_POLICIES,
            ),
            "template": _template(),
        },
        required=["type", "template"],
        rules=cel_rules.of_replica(),
    )


def _template() -> Schema:
    return record(
        "The pod of one replica. It needs a container named tensorflow.",
        {
            "metadata": pod_metadata(),
            "spec": record(
                "A PodSpec; every field that the API server knows for pods may stand here."
                " Its restartPolicy is always replaced by Never.",
                {"containers": _containers()},
                keeps_unknown=True,
            ),
        },
    )


def _containers() -> Schema:
    container = record(
        "One container.",
        {
            "name": text("Name; the one called tensorflow decides how the replica ends."),
            "image": text("Image to run."),
            "env": array(
                "Variables; TF_CONFIG is added, or replaced.",
                record("One variable.", {"name": text("Name.")}, keeps_unknown=True),
            ),
        },
        keeps_unknown=True,
        rules=cel_rules.of_container(),
    )
    return array("Containers of the pod.", container, at_most=_MAX_CONTAINERS)


def _run_policy() -> Schema:
    clean_up = "What is deleted when the job ends: None (default), All or Unfinished."
    return record(
        "How the job runs and ends.",
        {
            "activeDeadlineSeconds": integer(
                "Seconds after startTime when a job that still runs fails.",
                at_least=1,
                at_most=_INT64,
            ),
            "backoffLimit": integer(
                "Restarts of all replicas together; then no replica is made again."
                " Absent means no limit."
            ),
            "cleanUpPolicy": _clean_up(clean_up),
            "cleanPodPolicy": _clean_up("Older spelling of cleanUpPolicy."),
        },
    )


def _clean_up(about: str) -> Schema:
    return ruled({**text(about), "maxLength": _MAX_TEXT_LENGTH}, cel_rules.of_clean_up())


def _t9k_scheduler() -> Schema:
    return record(
        "Places the pods of the job together, in their turn.",
        {
            "queue": text("Queue in which the job waits."),
            "priority": integer("From 0 (default) to 100.", at_most=_MAX_PRIORITY),
        },
        rules=cel_rules.of_scheduler(),
    )


def run_mode() -> Schema:
    older = boolean("Older spelling of enabled.")
    return record(
        "Modes for debugging and for pausing.",
        {
            "debug": record(
                "Pods are made, but the training is not started in them.",
                {
                    "enabled": boolean("True turns the mode on."),
                    "enable": older,
                    "replicaSpecs": _starts(
                        "What starts instead, by type.",
                        {"command": _texts("Absent means sleep inf.")},
                    ),
                },
            ),
            "pause": record(
                "The job has no pods while it is paused.",
                {
                    "enabled": boolean("True pauses the job, false resumes it, at any time."),
                    "enable": older,
                    "resumeSpecs": _starts(
                        "What starts after a pause, by type.",
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
            "type": {**text("Role of the replicas."), "maxLength": _MAX_TEXT_LENGTH},
            "skipInitContainer": boolean("True leaves the init containers out."),
            **fields,
        },
        required=["type"],
    )
    return ruled(array(about, entry, at_most=_MAX_ENTRIES), cel_rules.of_modes())


def board() -> Schema:
    fileset = ruled({"type": "string", "maxLength": _MAX_TEXT_LENGTH}, cel_rules.of_fileset())
    return record(
        "A TensorBoard beside the job; it stays until the job is deleted.",
        {
            "image": text("Image of TensorBoard."),
            "trainingLogFilesets": array(
                "Where the logs are, such as t9k://pvc/<pvc>/<path>.",
                fileset,
                at_most=_MAX_FILESETS,
            ),
            "logDir": _log_dir(),
            "suspend": boolean("True takes its pod away until it is false again."),
            "scheduler": record(
                "Who places its pod.",
                {
                    "t9kScheduler": record(
                        "The T9k scheduler.", {"queue": text("Queue of its pod.")}
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
        "Where the logs are, in the newer form.",
        {
            "pvc": array(
                "Volumes.",
                record(
                    "One PersistentVolumeClaim.",
                    {
                        "name": hinted(
                            {**text("Its name."), "minLength": 1},
                            remedy=hints.NO_CLAIM,
                            absent=(validation_messages.REQUIRED, hints.NO_CLAIM),
                        ),
                        "subPath": _texts("Folders of it."),
                    },
                    required=["name"],
                ),
            ),
            "s3": record(
                "Buckets.",
                {
                    "secretRef": record("Credentials.", {"name": text("Name of the Secret.")}),
                    "uri": _texts("Addresses."),
                },
            ),
            "http": record("Pages.", {"url": _texts("Addresses.")}),
        },
    )


def _texts(about: str) -> Schema:
    return array(about, {"type": "string"})


def _status() -> Schema:
    aggregate = {phase.lower(): integer("Replicas in this phase.") for phase in api.AGGREGATE}
    return record(
        "What has become of the job; written by the operator.",
        {
            "phase": text("Pending, Running, Paused, Resuming, Succeeded, Failed or Unknown."),
            "conditions": array("What is, or was, so.", _condition()),
            "tasks": array("The replicas by type.", _task()),
            "backoffCount": integer("Restarts so far, all types together."),
            "aggregate": record("Replicas by phase.", aggregate),
            "tensorboard": record("State of the TensorBoard.", {}, keeps_unknown=True),
            "startTime": moment("When the pods were ordered; anew after a pause."),
            "progress": text("Running or Restarting, as the operator saw the master last."),
            "limitReached": text("The limit that ended it: BackoffLimit or ActiveDeadline."),
            diagnosis_field.NAME: diagnosis_field.schema(),
        },
        keeps_unknown=True,
    )


def _condition() -> Schema:
    return record(
        "One thing that is, or was, so.",
        {
            "type": text(f"{', '.join(api.CONDITIONS[:-1])} or {api.CONDITIONS[-1]}."),
            "status": text("True, False or Unknown."),
            "reason": text("One word for programs."),
            "message": text("One sentence for people."),
            "lastTransitionTime": moment("When its status last changed."),
        },
        required=["type", "status"],
        keeps_unknown=True,
    )


def _task() -> Schema:
    return record(
        "The replicas of one type.",
        {
            "type": text("Role of the replicas."),
            "restartCount": integer("Restarts so far."),
            "replicas": array(
                "Each replica.",
                record(
                    "One replica: its pod's name, uid and phase, and its containers.",
                    {"name": text("Name."), "phase": text("Pod phase, Creating or Deleted.")},
                    keeps_unknown=True,
                ),
            ),
            "completedIndexes": text("Replicas that have succeeded for good, such as 0,2-4."),
            "recentRestarts": array(
                "What was decided about pods, each by its UID.",
                record("One pod.", {}, keeps_unknown=True),
            ),
        },
        keeps_unknown=True,
    )
