"""Validation messages for these jobs, used by both the CEL rules and the offline validation.

`{}` is a placeholder.
"""

from tfjob.core.job import TRAINING_CONTAINER
from tfjob.dialects.tensorstack import api

MAX_REPLICAS = 5000
"""The most replicas of a job: the status lists each of them and must fit into one object."""
REQUIRED = "must be given"
NO_REPLICAS = "must have at least one entry"
DUPLICATE_TYPE = "two entries have the type {}"
SAME_TYPE = "two entries have the same type"
ONE_CHIEF = "a job has exactly 1 chief: replicas must be 1"
NO_MASTER = "no master node: a job needs a chief, or a worker with at least 1 replica"
MANY_REPLICAS = f"must be no more than {MAX_REPLICAS} replicas in total"
NO_CONTAINERS = f"must have a container named {TRAINING_CONTAINER}"
NO_IMAGE = "must name the image that the container runs"
CLEAN_UP = "must be None, All or Unfinished"
NO_QUEUE = "must name the queue in which the job waits"
ABSENT_TYPE = "the type {} is not among spec.replicaSpecs"
FILESET = "must be t9k://pvc/<pvc>/<path> or t9k://minio/<secret>/<bucket>/<path>"
BAD_NAME = (
    "must be a DNS-1035 label: lower-case letters, digits and '-',"
    " beginning with a letter and ending with a letter or digit"
)
LONG_NAME = "must be no more than {} characters because the names of pods are derived from it"
IMMUTABLE = (
    "cannot be changed after the job was created; only spec.runMode.pause.enabled and"
    " spec.tensorboardSpec.suspend can. Delete the job and create it anew"
)

MAX_SUFFIX = f"-xxxxx-{api.EVALUATOR}-"
"""The part between the job's name and the index in the longest child name."""
