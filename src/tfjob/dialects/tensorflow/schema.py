"""The schema of a TfJob.

Objects with case-insensitive keys and pod templates preserve unknown fields; only the fields that
the rules need are declared.
"""

from tfjob.dialects import diagnosis_field
from tfjob.dialects.schema import Schema, array, boolean, integer, mapping, record, ruled, text
from tfjob.dialects.tensorflow import api, cel_rules

_MAX_ENTRIES = 10
"""More than there are types, so that an unknown type gets an error that names it."""
_MAX_CONTAINERS = 100
_INT32 = 2**31


def schema() -> Schema:
    return record(
        "A TensorFlow training job in which each replica is a batch Job.",
        {
            "apiVersion": text(f"Always {api.API_VERSION}."),
            "kind": text(f"Always {api.KIND}."),
            "metadata": {"type": "object"},
            "spec": spec(),
            "status": _status(),
        },
        required=["spec"],
    )


def spec() -> Schema:
    runtime_id = text("Identifier in the names of all children; generated if absent.")
    runtime_id = ruled(runtime_id, cel_rules.of_runtime_id())
    entries = array("One entry per replica type.", _entry(), at_most=_MAX_ENTRIES)
    entries = ruled(entries, cel_rules.of_entries())
    return record(
        "The desired state of the job. Immutable once RuntimeId is set.",
        {
            "RuntimeId": runtime_id,
            "replicaSpecs": entries,
            "tfImage": text("The image of TensorBoard and of default parameter servers."),
            "tensorboard": _tensorboard(),
            "terminationPolicy": _termination(),
        },
        keeps_unknown=True,
        rules=cel_rules.of_spec(),
    )


def _number(about: str) -> Schema:
    """An integer whose bounds are checked by a rule, for the sake of its message."""
    return integer(about, at_least=-_INT32)


def _nullable(schema: Schema) -> Schema:
    """For fields that the original operator stored as null: server-side apply must accept them."""
    return {**schema, "nullable": True}


def _entry() -> Schema:
    return record(
        "One replica type.",
        {
            "tfReplicaType": text("MASTER (default), WORKER or PS."),
            "replicas": _number("Number of replicas, 1 if absent; always 1 for MASTER."),
            "tfPort": {**_number("Port of the replicas in TF_CONFIG."), "default": api.PORT},
            "template": _template(),
            "IsDefaultPS": boolean("Ignored; the status shows which servers are default ones."),
        },
        keeps_unknown=True,
        rules=cel_rules.of_entry(),
    )


def _template() -> Schema:
    container = record(
        "One container.",
        {"name": text("Name; the container tensorflow determines the state of the replica.")},
        keeps_unknown=True,
    )
    policy = text("restartPolicy of the pods: OnFailure (default) or Never.")
    policy = ruled(policy, cel_rules.of_restart_policy())
    return record(
        "The pod template of a replica. A PS without one, or without a container named"
        " tensorflow, runs the default parameter server.",
        {
            "spec": record(
                "A PodSpec; all fields that the API server knows for pods are allowed.",
                {
                    "containers": array(
                        "Containers of the pod.", container, at_most=_MAX_CONTAINERS
                    ),
                    "restartPolicy": policy,
                },
                keeps_unknown=True,
            )
        },
        keeps_unknown=True,
    )


def _tensorboard() -> Schema:
    log_dir = text("Where the event files are: a folder, or a bucket such as gs://name/folder.")
    log_dir = ruled(log_dir, cel_rules.of_log_dir())
    anything = record("The same fields as in a pod.", {}, keeps_unknown=True)
    return record(
        "Requests a TensorBoard for the job, which stays until the job is deleted.",
        {
            "logDir": log_dir,
            "volumes": _nullable(array("Volumes of TensorBoard's pod.", anything)),
            "volumeMounts": _nullable(array("Volume mounts of TensorBoard's container.", anything)),
            "serviceType": text("Type of TensorBoard's Service, ClusterIP if absent."),
        },
        keeps_unknown=True,
    )


def _termination() -> Schema:
    chief = record(
        "The replica whose exit code decides whether the job succeeds or fails.",
        {
            "replicaName": text("Type of that replica, MASTER if absent."),
            "replicaIndex": _number("Index of that replica, 0 if absent."),
        },
        keeps_unknown=True,
    )
    return record("Decides when the job finishes.", {"chief": chief}, keeps_unknown=True)


def _status() -> Schema:
    condition = record("Never written.", {}, keeps_unknown=True)
    conditions = _nullable(array("Always null.", condition))
    return record(
        "The observed state of the job, written by the operator.",
        {
            "phase": text("Creating, Running, CleanUp, Done or Failed."),
            "state": text("Running, Succeeded or Failed."),
            "reason": text(
                "Why the job was rejected, why a child cannot be created, or why TensorBoard cannot"
                " start."
            ),
            "controlPaused": boolean("Always false."),
            "conditions": conditions,
            "replicaStatuses": array("One entry per replica type.", _replica_status()),
            "replicaSpecs": array(
                "What the operator supplies for each replica type.",
                record("One replica type, as in spec.", {}, keeps_unknown=True),
            ),
            diagnosis_field.NAME: diagnosis_field.schema(),
        },
        keeps_unknown=True,
    )


def _replica_status() -> Schema:
    return record(
        "The state of the replicas of one type.",
        {
            "tf_replica_type": text("The replica type."),
            "state": text("The combined state of the replicas."),
            "ReplicasStates": mapping(
                "The number of replicas in each state: Running, Succeeded, Failed or Unknown.",
                integer("Replicas in that state."),
            ),
        },
        keeps_unknown=True,
    )
