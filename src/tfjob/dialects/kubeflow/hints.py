"""Hints for users whose TFJob is rejected; they are not part of the error message."""

import difflib
import re
from collections.abc import Sequence

from tfjob.core.job import MAX_REPLICAS, TRAINING_CONTAINER
from tfjob.dialects.kubeflow import api

LONG_NAME = "shorten it to {} characters or less"
MANAGER = "leave the field out to have this operator run the job"
NO_TYPES = "add at least one replica type with its template, for example Worker"
DUPLICATE_TYPE = "keep one of the two entries: the case of a type does not matter"
TWO_LEADERS = "keep Chief and remove Master: they have the same role"
MANY_LEADERS = "set replicas to 1 and add further replicas as Workers"
MANY_REPLICAS = f"reduce the total to {MAX_REPLICAS} replicas or less"
NO_CONTAINERS = f"add a container with name {TRAINING_CONTAINER} and an image"
NO_TRAINING_CONTAINER = f"name the training container {TRAINING_CONTAINER}"
MANY_CONTAINERS = "remove containers that the replica does not need"
NO_IMAGE = "add the image that the container runs, for example tensorflow/tensorflow:2.19.0"
NO_PORT = "add containerPort, or remove the entry"


def for_name(name: str, longest: int) -> str:
    """Suggest a valid name close to the given one."""
    kept = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")
    whole = kept if kept[:1].isalpha() else f"job-{kept}"
    legal = whole[:longest].strip("-")
    if not kept:
        return "use lower-case letters, digits and '-'"
    if whole == name:
        return f"shorten it to {longest} characters or less, for example {legal}"
    return f"use a name such as {legal}"


def for_type(key: str, _: object) -> str:
    """Suggest the replica type that was probably meant."""
    choices = {each.lower(): each for each in api.TYPES}
    close = difflib.get_close_matches(key.lower(), choices, n=1)
    if close:
        return f"did you mean {choices[close[0]]}?"
    return "use one of the supported types"


def for_containers(containers: object, _: object) -> str:
    """What to do about containers none of which trains."""
    is_given = isinstance(containers, Sequence) and bool(containers)
    return NO_TRAINING_CONTAINER if is_given else NO_CONTAINERS
