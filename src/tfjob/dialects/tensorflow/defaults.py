"""Adds a runtime id and an image to the spec of a TfJob before its first child is created.

A spec that has a runtime id is immutable and is never written again. What the user wrote is stored
as written, so that applying the same file again changes nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tfjob.dialects.base import Manifest, Settings
from tfjob.dialects.field_reader import ROOT, Reader
from tfjob.dialects.stored_values import is_deleting
from tfjob.dialects.tensorflow import job, status

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

    runtime_id = spec.runtime_id or _drawn(tokens, is_free)
    return {"tfImage": spec.image, **given["spec"], "RuntimeId": runtime_id}


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
