"""Validation messages for TFJobs, and remedies for users, which are not part of the message.

The CEL rules and the offline validation use the same texts. Scripts and tests of other tools match
the messages byte for byte. `{}` is a placeholder.
"""

import difflib
from collections.abc import Sequence

from tfjob.core.job import MAX_REPLICAS, TRAINING_CONTAINER
from tfjob.dialects.kubeflow import api
from tfjob.dialects.naming import MAX_NAME_LENGTH

BAD_NAME = "should match: {}"
LONG_LABEL = f"must be no more than {MAX_NAME_LENGTH} characters"
NO_LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character "
    "(e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
LONG_NAME = "must be no more than {} characters because pod and service names are derived from it"
LONG_NAME_REMEDY = "shorten it to {} characters or less"
IMMUTABLE = "field is immutable"
QUEUE_IMMUTABLE = "spec.runPolicy.schedulingPolicy.queue is immutable"
REQUIRED = "must be required"
NO_CONTAINERS = "must be specified"
NO_CONTAINERS_REMEDY = f"add a container with name {TRAINING_CONTAINER} and an image"
NO_TRAINING_CONTAINER = f"must have at least one container with name {TRAINING_CONTAINER}"
NO_TRAINING_CONTAINER_REMEDY = f"name the training container {TRAINING_CONTAINER}"
TWO_LEADERS = "must not have more than 1 Chief or Master role"
TWO_LEADERS_REMEDY = "keep Chief and remove Master: they have the same role"
MANY_LEADERS = "spec.tfReplicaSpecs[{}].replicas in body should be less than or equal to 1"
MANY_LEADERS_REMEDY = "set replicas to 1 and add further replicas as Workers"
MANY_REPLICAS = f"must be no more than {MAX_REPLICAS} replicas in total"
MANY_REPLICAS_REMEDY = f"reduce the total to {MAX_REPLICAS} replicas or less"

MANAGER_REMEDY = "leave the field out to have this operator run the job"
NO_TYPES_REMEDY = "add at least one replica type with its template, for example Worker"
DUPLICATE_TYPE_REMEDY = "keep one of the two entries: the case of a type does not matter"
MANY_CONTAINERS_REMEDY = "remove containers that the replica does not need"
NO_IMAGE_REMEDY = "add the image that the container runs, for example tensorflow/tensorflow:2.19.0"
NO_PORT_REMEDY = "add containerPort, or remove the entry"


def remedy_for_type(key: str, _: object) -> str:
    """Suggest the replica type that was probably meant."""
    choices = {each.lower(): each for each in api.TYPES}
    close = difflib.get_close_matches(key.lower(), choices, n=1)
    if close:
        return f"did you mean {choices[close[0]]}?"
    return "use one of the supported types"


def remedy_for_containers(containers: object, _: object) -> str:
    """What to do about containers none of which trains."""
    is_given = isinstance(containers, Sequence) and bool(containers)
    return NO_TRAINING_CONTAINER_REMEDY if is_given else NO_CONTAINERS_REMEDY
