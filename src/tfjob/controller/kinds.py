"""Where the children of jobs live on an API server, and what people call them."""

from typing import Final

import msgspec

from tfjob.client.resource import PODS, SERVICES, Resource
from tfjob.core.invalid import InvalidJob
from tfjob.core.job import Job
from tfjob.core.plan import ChildKind


class Kind(msgspec.Struct, frozen=True):
    resource: Resource
    noun: str


_KINDS: Final = {
    ChildKind.POD: Kind(PODS, "pod"),
    ChildKind.SERVICE: Kind(SERVICES, "service"),
    ChildKind.JOB: Kind(Resource("batch", "v1", "jobs"), "job"),
    "ConfigMap": Kind(Resource("", "v1", "configmaps"), "configmap"),
    "Deployment": Kind(Resource("apps", "v1", "deployments"), "deployment"),
}


def kind_of(name: str, job: Job | InvalidJob) -> Kind:
    """The kind of a child; a PodGroup's API depends on the scheduler."""
    if name == ChildKind.POD_GROUP and isinstance(job, Job) and job.gang is not None:
        group, _, version = job.gang.api_version.partition("/")
        return Kind(Resource(group, version, "podgroups"), "PodGroup")
    return _KINDS[name]
