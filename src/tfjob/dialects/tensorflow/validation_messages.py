"""Validation messages for TfJobs, used by both the CEL rules and the offline validation.

Scripts match these texts byte for byte. `{}` is a placeholder.
"""

from tfjob.core.job import MAX_REPLICAS, TRAINING_CONTAINER
from tfjob.core.naming import MAX_NAME_LENGTH
from tfjob.dialects.tensorflow import api

BAD_TERMINATION = "invalid termination policy: {}"
NO_TEMPLATE = "Replica is missing Template; {}"
MANY_MASTERS = "The MASTER must have Replicas = 1"
BAD_TYPE = f"tfReplicaSpec.TfReplicaType is {{}} but must be one of [{' '.join(sorted(api.TYPES))}]"
NO_TRAINING_CONTAINER = f"Replica type {{}} is missing a container named {TRAINING_CONTAINER}"
NO_CHIEF = "Missing ReplicaSpec for chief: {}"
NO_LOG_DIR = "tbReplicaSpec.LogDir must be specified"
DUPLICATE_TYPE = "duplicate ReplicaSpec for type {}"
NEGATIVE = "replicas must not be negative"
BAD_PORT = "tfPort must be in 1..65535"
BAD_CHIEF_INDEX = "chief index {} is out of range"
BAD_RUNTIME_ID = "RuntimeId is not a DNS label"
NO_LETTER = "job name must start with a letter"
BAD_RESTART_POLICY = "restartPolicy must be OnFailure or Never"
NO_REPLICAS = "replicaSpecs must be specified"
MANY_REPLICAS = f"must be no more than {MAX_REPLICAS} replicas in total"
DOTS = "job name must not have dots where children are named after the job"
LONG_NAMES = f"names of children would have more than {MAX_NAME_LENGTH} characters"
IMMUTABLE = (
    "the spec cannot be changed once the job has its RuntimeId: "
    "delete the job and create it again with the new spec"
)
