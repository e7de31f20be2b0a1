"""Shows in the status what the operator supplies for the replicas of a TfJob.

Nothing is added to the list of replicas in the spec: a client that applies its file again would
replace the whole list, and so change the job. A spec that already shows it needs no copy.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tfjob.core.job import Job, ReplicaType
from tfjob.dialects.stored_values import mapping, mappings
from tfjob.dialects.tensorflow import key_aliases
from tfjob.dialects.tensorflow.template import has_training_container

FIELD = "replicaSpecs"


def shown(
    job: Job, *, stored: Mapping[str, Any], read_spec: Callable[[], Mapping[str, Any]]
) -> dict[str, Any]:
    """The field of the status; nothing if the spec shows it. Once written, it does not change."""
    if stored.get(FIELD):
        return {FIELD: stored[FIELD]}
    spec = key_aliases.normalised(read_spec(), key_aliases.SPEC)
    entries = [
        key_aliases.normalised(each, key_aliases.REPLICA)
        for each in mappings(spec.get("replicaSpecs"))
    ]
    if all("IsDefaultPS" in each for each in entries):
        return {}
    return {FIELD: [_entry(*pair) for pair in zip(job.replicas, entries, strict=False)]}


def _entry(replica: ReplicaType, given: Mapping[str, Any]) -> dict[str, Any]:
    is_default_server = bool(replica.commands)
    found: dict[str, Any] = {"IsDefaultPS": is_default_server, "tfReplicaType": replica.type}
    if is_default_server and not has_training_container(mapping(given.get("template"))):
        found["template"] = replica.template
    return found
