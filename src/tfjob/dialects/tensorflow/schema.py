"""The schema of a TfJob: what an API server is told about its fields.

Objects whose keys are read whatever their case keep keys that are not declared, and so does a pod
template: of both only what the rules must see is declared.
"""

from tfjob.dialects.schema import Schema, array, boolean, integer, mapping, record, ruled, text
from tfjob.dialects.tensorflow import api, rules
from tfjob.dialects.tensorflow.template import MAX_CONTAINERS

_MAX_ENTRIES = 10
"""More than there are types, so that a wrong entry is refused by its name, not by its number."""
_INT32 = 2**31


def schema() -> Schema:
    return record(
        "A TensorFlow training job whose replicas are run by batch Jobs.",
        {
            "apiVersion": text(f"Always {api.API_VERSION}."),
            "kind": text(f"Always {api.KIND}."),
            "metadata": {"type": "object"},
            "spec": _spec(),
            "status": _status(),
        },
        required=["spec"],
    )


def _spec() -> Schema:
    runtime_id = text("The id in the names of all children; drawn where it is absent.")
    runtime_id = ruled(runtime_id, rules.of_runtime_id())
    entries = array("One entry per replica type.", _entry(), at_most=_MAX_ENTRIES)
    entries = ruled(entries, rules.of_entries())
    return record(
        "What shall run. It cannot be changed once RuntimeId is set.",
        {
            "RuntimeId": runtime_id,
            "replicaSpecs": entries,
            "tfImage": text("The image of TensorBoard and of PS without a template."),
            "tensorboard": _tensorboard(),
            "terminationPolicy": _termination(),
        },
        keeps_unknown=True,
        rules=rules.of_spec(),
    )


def _number(about: str) -> Schema:
    """A whole number whose bounds are told by a rule, in the words of the contract."""
    return integer(about, at_least=-_INT32)


def _entry() -> Schema:
    return record(
        "One replica type.",
        {
            "tfReplicaType": text("MASTER (default), WORKER or PS."),
            "replicas": _number("How many, 1 where absent. There is one MASTER."),
            "tfPort": _number(f"The port of its replicas, {api.PORT} where absent."),
            "template": _template(),
            "IsDefaultPS": boolean("The operator supplied the server; not for users to set."),
        },
        keeps_unknown=True,
        rules=rules.of_entry(),
    )


def _template() -> Schema:
    container = record(
        "One container.",
        {"name": text("Name; the one called tensorflow decides how the replica ends.")},
        keeps_unknown=True,
    )
    policy = text("OnFailure (default) or Never.")
    policy = ruled(policy, rules.of_restart_policy())
    return record(
        "The pod of one replica. Only a PS may do without one, or without a container named"
        " tensorflow: it then runs a plain TensorFlow server.",
        {
            "spec": record(
                "A PodSpec; every field that the API server knows for pods may stand here.",
                {
                    "containers": array(
                        "Containers of the pod.", container, at_most=MAX_CONTAINERS
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
    log_dir = ruled(log_dir, rules.of_log_dir())
    anything = record("As in a pod.", {}, keeps_unknown=True)
    return record(
        "Asks for a TensorBoard beside the job. It needs logDir.",
        {
            "logDir": log_dir,
            "volumes": array("Volumes of its pod.", anything),
            "volumeMounts": array("Mounts of its container.", anything),
            "serviceType": text("Type of its Service, ClusterIP where absent."),
        },
        keeps_unknown=True,
    )


def _termination() -> Schema:
    chief = record(
        "The replica whose end is the job's.",
        {
            "replicaName": text("Its type, MASTER where absent."),
            "replicaIndex": _number("Its index, 0 where absent."),
        },
        keeps_unknown=True,
    )
    return record("Who decides how the job ends.", {"chief": chief}, keeps_unknown=True)


def _status() -> Schema:
    condition = record("Never written.", {}, keeps_unknown=True)
    conditions = array("Always null.", condition)
    conditions["nullable"] = True
    return record(
        "What has become of the job; written by the operator.",
        {
            "phase": text("Creating, Running, CleanUp, Done or Failed."),
            "state": text("Running, Succeeded or Failed."),
            "reason": text("Why the job was refused, or why a child cannot be made."),
            "controlPaused": boolean("Always false."),
            "conditions": conditions,
            "replicaStatuses": array("One entry per replica type.", _replica_status()),
        },
        keeps_unknown=True,
    )


def _replica_status() -> Schema:
    return record(
        "How the replicas of one type stand.",
        {
            "tf_replica_type": text("The type."),
            "state": text("The state of all together."),
            "ReplicasStates": mapping(
                "How many are in each state: Running, Succeeded, Failed or Unknown.",
                integer("Replicas in that state."),
            ),
        },
        keeps_unknown=True,
    )
