"""Hints for users whose job is rejected; they are not part of the error message."""

import re

from tfjob.core.job import TRAINING_CONTAINER
from tfjob.dialects.tensorstack.validation_messages import MAX_REPLICAS

LONG_NAME = "shorten it to {} characters or less"
NO_REPLICAS = "add an entry with type, replicas and template, for example of type worker"
NO_TYPE = "add type: chief, worker, ps or evaluator"
DUPLICATE_TYPE = "keep one entry of the type, with the sum of the replicas"
ONE_CHIEF = "set replicas to 1 and add further replicas as workers"
NO_MASTER = "add an entry of type chief, or one of type worker with 1 replica or more"
MANY_REPLICAS = f"reduce the total to {MAX_REPLICAS} replicas or less"
NO_CONTAINERS = f"name the training container {TRAINING_CONTAINER}"
NO_IMAGE = "add the image, for example tensorflow/tensorflow:2.19.0"
CLEAN_UP = "write None, All or Unfinished"
NO_QUEUE = "add queue, or remove t9kScheduler to use the scheduler of the cluster"
ABSENT_TYPE = "remove the entry, or add the type to spec.replicaSpecs"
TWO_MODES = "keep one entry of the type"
FILESET = "write it as t9k://pvc/, the name of the PVC, and the path of the log"
NO_CLAIM = "add the name of the PersistentVolumeClaim that holds the logs"
NO_IMAGE_OF_BOARD = "add the image, for example t9kpublic/tensorboard:2.11.0"


def for_name(name: str, longest: int) -> str:
    """Suggest a valid name close to the given one."""
    kept = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")
    whole = kept if kept[:1].isalpha() else f"job-{kept}"
    legal = whole[:longest].strip("-")
    return f"use a name such as {legal}" if kept else "use lower-case letters, digits and '-'"
