"""Validation messages for these jobs, and remedies for users, which are not part of the message.

The CEL rules and the offline validation use the same texts. `{}` is a placeholder.
"""

from tfjob.core.job import TRAINING_CONTAINER
from tfjob.dialects.tensorstack import api

MAX_REPLICAS = 5000
"""The most replicas of a job: the status lists each of them and must fit into one object."""
REQUIRED = "must be given"
NO_REPLICAS = "must have at least one entry"
NO_REPLICAS_REMEDY = "add an entry with type, replicas and template, for example of type worker"
DUPLICATE_TYPE = "two entries have the type {}"
DUPLICATE_TYPE_REMEDY = "keep one entry of the type, with the sum of the replicas"
SAME_TYPE = "two entries have the same type"
ONE_CHIEF = "a job has exactly 1 chief: replicas must be 1"
ONE_CHIEF_REMEDY = "set replicas to 1 and add further replicas as workers"
NO_MASTER = "no master node: a job needs a chief, or a worker with at least 1 replica"
NO_MASTER_REMEDY = "add an entry of type chief, or one of type worker with 1 replica or more"
MANY_REPLICAS = f"must be no more than {MAX_REPLICAS} replicas in total"
MANY_REPLICAS_REMEDY = f"reduce the total to {MAX_REPLICAS} replicas or less"
NO_CONTAINERS = f"must have a container named {TRAINING_CONTAINER}"
NO_CONTAINERS_REMEDY = f"name the training container {TRAINING_CONTAINER}"
NO_IMAGE = "must name the image that the container runs"
NO_IMAGE_REMEDY = "add the image, for example tensorflow/tensorflow:2.19.0"
CLEAN_UP = "must be None, All or Unfinished"
CLEAN_UP_REMEDY = "write None, All or Unfinished"
NO_QUEUE = "must name the queue in which the job waits"
NO_QUEUE_REMEDY = "add queue, or remove t9kScheduler to use the scheduler of the cluster"
ABSENT_TYPE = "the type {} is not among spec.replicaSpecs"
ABSENT_TYPE_REMEDY = "remove the entry, or add the type to spec.replicaSpecs"
FILESET = "must be t9k://pvc/<pvc>/<path> or t9k://minio/<secret>/<bucket>/<path>"
FILESET_REMEDY = "write it as t9k://pvc/, the name of the PVC, and the path of the log"
BAD_NAME = (
    "must be a DNS-1035 label: lower-case letters, digits and '-',"
    " beginning with a letter and ending with a letter or digit"
)
LONG_NAME = "must be no more than {} characters because the names of pods are derived from it"
LONG_NAME_REMEDY = "shorten it to {} characters or less"
IMMUTABLE = (
    "cannot be changed after the job was created; only spec.runMode.pause.enabled and"
    " spec.tensorboardSpec.suspend can. Delete the job and create it anew"
)
MAX_SUFFIX = f"-xxxxx-{api.EVALUATOR}-"
"""The part between the job's name and the index in the longest child name."""

NO_TYPE_REMEDY = "add type: chief, worker, ps or evaluator"
TWO_MODES_REMEDY = "keep one entry of the type"
NO_CLAIM_REMEDY = "add the name of the PersistentVolumeClaim that holds the logs"
NO_IMAGE_OF_BOARD_REMEDY = "add the image, for example t9kpublic/tensorboard:2.11.0"
