"""Validation messages for TfJobs, and remedies for users, which are not part of the message.

The CEL rules and the offline validation use the same texts. Scripts match the messages byte for
byte. `{}` is a placeholder.
"""

from tfjob.core.job import MAX_REPLICAS, TRAINING_CONTAINER
from tfjob.dialects.naming import MAX_NAME_LENGTH
from tfjob.dialects.tensorflow import api

BAD_TERMINATION = "invalid termination policy: {}"
BAD_TERMINATION_REMEDY = (
    "write chief with replicaName and replicaIndex, or remove terminationPolicy"
)
NO_TEMPLATE = "Replica is missing Template; {}"
NO_TEMPLATE_REMEDY = "add a template; only a PS may omit it"
MANY_MASTERS = "The MASTER must have Replicas = 1"
MANY_MASTERS_REMEDY = "set replicas to 1 and add further replicas as WORKERs"
BAD_TYPE = f"tfReplicaSpec.TfReplicaType is {{}} but must be one of [{' '.join(sorted(api.TYPES))}]"
BAD_TYPE_REMEDY = "write MASTER, PS or WORKER in capitals"
NO_TRAINING_CONTAINER = f"Replica type {{}} is missing a container named {TRAINING_CONTAINER}"
NO_TRAINING_CONTAINER_REMEDY = f"name the training container {TRAINING_CONTAINER}"
NO_CHIEF = "Missing ReplicaSpec for chief: {}"
NO_CHIEF_REMEDY = "add an entry of that type, or name another chief in terminationPolicy"
NO_LOG_DIR = "tbReplicaSpec.LogDir must be specified"
NO_LOG_DIR_REMEDY = "add logDir, the folder or bucket that the job writes its event files to"
DUPLICATE_TYPE = "duplicate ReplicaSpec for type {}"
DUPLICATE_TYPE_REMEDY = "merge the entries into one, with the sum of their replicas"
NEGATIVE = "replicas must not be negative"
NEGATIVE_REMEDY = "write 0 or more"
BAD_PORT = "tfPort must be in 1..65535"
BAD_PORT_REMEDY = "write a port number, or remove the field to use 2222"
BAD_CHIEF_INDEX = "chief index {} is out of range"
BAD_CHIEF_INDEX_REMEDY = "name a replica that the job has; the first one is 0"
BAD_RUNTIME_ID = "RuntimeId is not a DNS label"
BAD_RUNTIME_ID_REMEDY = (
    "remove it to have one generated, or use at most 40 characters of a-z, 0-9 and '-'"
)
NO_LETTER = "job name must start with a letter"
NO_LETTER_REMEDY = "begin the name with a letter from a to z"
BAD_RESTART_POLICY = "restartPolicy must be OnFailure or Never"
BAD_RESTART_POLICY_REMEDY = "write OnFailure, or remove the field"
NO_REPLICAS = "replicaSpecs must be specified"
NO_REPLICAS_REMEDY = "add replicaSpecs with at least one MASTER"
MANY_REPLICAS = f"must be no more than {MAX_REPLICAS} replicas in total"
MANY_REPLICAS_REMEDY = f"reduce the total to {MAX_REPLICAS} replicas or less"
DOTS = "job name must not have dots where children are named after the job"
DOTS_REMEDY = "use '-' in place of dots"
LONG_NAMES = f"names of children would have more than {MAX_NAME_LENGTH} characters"
LONG_NAMES_REMEDY = "shorten the job's name or its RuntimeId"
IMMUTABLE = (
    "the spec cannot be changed once the job has its RuntimeId: "
    "delete the job and create it again with the new spec"
)

NO_NAME_REMEDY = "add metadata.name"
