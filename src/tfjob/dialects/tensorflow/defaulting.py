"""Adds defaults and a runtime id to the spec of a TfJob before its first child is created.

A spec that has a runtime id is immutable and is never written again.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tfjob.dialects.base import Manifest, Settings
from tfjob.dialects.field_reader import ROOT, Reader
from tfjob.dialects.stored_values import is_deleting
from tfjob.dialects.tensorflow import job, status
from tfjob.dialects.tensorflow.spec import Spec, with_defaults

_MAX_DRAWS = 10


def defaulted_spec(
    manifest: Manifest,
    settings: Settings,
    *,
    tokens: Iterator[str],
    is_taken: Callable[[str], bool],
) -> dict[str, Any] | None:
    """The spec to store, or None if it needs no defaults or has faults."""
    reader = Reader()
    given = reader.mapping(manifest, ROOT)
    if _needs_no_defaults(given):
        return None
    spec = job.read(reader, given, settings)
    if reader.faults:
        return None

    first = next(each.type for each in spec.entries if each.count)

    def is_free(token: str) -> bool:
        return not is_taken(job.names_of(given, token, settings).replica(first, 0))

    return _stored(spec, runtime_id=spec.runtime_id or _drawn(tokens, is_free))


def _needs_no_defaults(manifest: Manifest) -> bool:
    """The job has its id, is finished, or is being deleted."""
    spec, stored = manifest.get("spec"), manifest.get("status")
    has_id = isinstance(spec, Mapping) and bool(spec.get("RuntimeId"))
    is_over = isinstance(stored, Mapping) and status.is_final(stored)
    return has_id or is_over or is_deleting(manifest)


def _drawn(tokens: Iterator[str], is_free: Callable[[str], bool]) -> str:
    """The first free token; after too many attempts the last one, whose conflict is reported."""
    token = next(tokens)
    for _ in range(_MAX_DRAWS - 1):
        if is_free(token):
            break
        token = next(tokens)
    return token


def _stored(spec: Spec, *, runtime_id: str) -> dict[str, Any]:
    found = {
        **spec.given,
        "RuntimeId": runtime_id,
        "replicaSpecs": [with_defaults(each) for each in spec.entries],
        "terminationPolicy": spec.termination,
        "tfImage": spec.image,
    }
    if spec.tensorboard is not None:
        found["tensorboard"] = spec.tensorboard.given
    return found
