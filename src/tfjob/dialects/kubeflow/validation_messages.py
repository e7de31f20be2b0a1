"""Validation messages for TFJobs, used by both the CEL rules and the offline validation.

Scripts and tests of other tools match these texts byte for byte. `{}` is a placeholder.
"""

from tfjob.core.job import MAX_REPLICAS, TRAINING_CONTAINER
from tfjob.core.naming import MAX_NAME_LENGTH

BAD_NAME = "should match: {}"
LONG_LABEL = f"must be no more than {MAX_NAME_LENGTH} characters"
NO_LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character "
    "(e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
LONG_NAME = "must be no more than {} characters because pod and service names are derived from it"
IMMUTABLE = "field is immutable"
QUEUE_IMMUTABLE = "spec.runPolicy.schedulingPolicy.queue is immutable"
REQUIRED = "must be required"
NO_CONTAINERS = "must be specified"
NO_TRAINING_CONTAINER = f"must have at least one container with name {TRAINING_CONTAINER}"
TWO_LEADERS = "must not have more than 1 Chief or Master role"
MANY_LEADERS = "spec.tfReplicaSpecs[{}].replicas in body should be less than or equal to 1"
MANY_REPLICAS = f"must be no more than {MAX_REPLICAS} replicas in total"
