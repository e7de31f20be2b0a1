"""The kinds of children: their API resources and the nouns used in messages.

Kinds that every dialect has are listed here; the others come from the dialect.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from tfjob.client.resource import PODS, SERVICES, Resource
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job
from tfjob.core.plan import ChildKind
from tfjob.dialects.base import ChildApi

BATCH_JOBS: Final = Resource("batch", "v1", "jobs")


class Kind(msgspec.Struct, frozen=True):
    resource: Resource
    noun: str


_KINDS: Final[dict[str, Kind]] = {
    ChildKind.POD: Kind(PODS, "pod"),
    ChildKind.SERVICE: Kind(SERVICES, "service"),
    ChildKind.JOB: Kind(BATCH_JOBS, "job"),
}


def resource_of(api: ChildApi) -> Resource:
    return Resource(api.group, api.version, api.plural)


class Kinds:
    """The kinds of children that one dialect's jobs can have."""

    def __init__(self, others: Sequence[ChildApi] = ()) -> None:
        own = {each.kind: Kind(resource_of(each), _noun(each.kind)) for each in others}
        self._kinds = {**own, **_KINDS}

    def of(self, name: str, job: Job | InvalidJob) -> Kind:
        """The kind of a child; a PodGroup's API depends on the scheduler."""
        if name == ChildKind.POD_GROUP and isinstance(job, Job) and job.gang is not None:
            group, _, version = job.gang.api_version.partition("/")
            return Kind(Resource(group, version, "podgroups"), _noun(name))
        return self._kinds[name]


def _noun(kind: str) -> str:
    return kind if kind == ChildKind.POD_GROUP else kind.lower()
