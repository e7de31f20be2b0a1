"""What the operator asks of an API server, as one table: the only source of the roles it gets.

A line names a kind of object, the verbs, when they are needed, and why. What is not in the table
the operator is not allowed to do; what is in it and never asked for is a fault. Pure data.
"""

from enum import StrEnum
from typing import Final

import msgspec

from tfjob.client.resource import EVENTS, LEASES, PODS, SERVICES, Resource
from tfjob.controller.child_kinds import resource_of
from tfjob.controller.cluster_lookups import NODES, PRIORITY_CLASSES
from tfjob.dialects.descriptor import CHILD_VERBS, INFORMER_VERBS, Descriptor
from tfjob.dialects.registry import DESCRIPTORS


class Need(StrEnum):
    """What an operator must be set to do before it needs a permission, whatever it serves."""

    JOBS = "jobs"
    """Always: in each namespace whose jobs are served."""
    CLUSTER = "cluster"
    """Wherever it may: of objects that no namespace holds. Without it the operator still works."""
    LEADERSHIP = "leadership"
    """With leader election: in the operator's own namespace."""
    PRIORITIES = "priorities"
    """With gang scheduling, of objects that no namespace holds."""


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    """The verbs that are needed on one kind of object."""

    need: str
    """One of `Need`, or what `need_of` calls a dialect or one of its options."""
    resource: Resource
    verbs: tuple[str, ...]
    subresource: str = ""
    has_one_name: bool = False
    """All that is asked for bears one name, known when the operator is installed."""
    why: str

    @property
    def name(self) -> str:
        """The object as a role spells it."""
        plural = self.resource.plural
        return f"{plural}/{self.subresource}" if self.subresource else plural


def need_of(descriptor: Descriptor, option: str = "") -> str:
    """The need of permissions for one dialect, or for one of the dialect's options."""
    return f"{descriptor.name}.{option}" if option else descriptor.name


def permissions_for(descriptor: Descriptor) -> tuple[Permission, ...]:
    """What serving the jobs of one dialect takes."""
    return (
        *_of_jobs(descriptor),
        *(
            Permission(
                need=need_of(descriptor, each.option),
                resource=resource_of(each.api),
                verbs=each.verbs,
                why=each.why,
            )
            for each in descriptor.access
        ),
    )


def _of_jobs(descriptor: Descriptor) -> tuple[Permission, ...]:
    need, stored = need_of(descriptor), descriptor.stored
    jobs = Resource(stored.group, stored.version, stored.plural)
    seldom = "never sent: servers that enforce permissions on owner references ask for it before "
    return (
        Permission(
            need=need,
            resource=jobs,
            verbs=(*INFORMER_VERBS, *descriptor.job_verbs),
            why=descriptor.job_why,
        ),
        Permission(
            need=need,
            resource=jobs,
            subresource="status",
            verbs=("update",),
            why="conditions and counts",
        ),
        Permission(
            need=need,
            resource=jobs,
            subresource="finalizers",
            verbs=("update",),
            why=f"{seldom}a child may hold up the deletion of its job",
        ),
    )


PERMISSIONS: Final = (
    *(each for descriptor in DESCRIPTORS for each in permissions_for(descriptor)),
    Permission(
        need=Need.JOBS,
        resource=PODS,
        verbs=CHILD_VERBS,
        why="the replicas; get when a name is taken, patch to adopt and to let go",
    ),
    Permission(
        need=Need.JOBS,
        resource=SERVICES,
        verbs=CHILD_VERBS,
        why="one per replica, for its address; get and patch as for pods",
    ),
    Permission(
        need=Need.JOBS,
        resource=EVENTS,
        verbs=("get", "create", "patch"),
        why="what happened to a job; get and patch to count on what was told before",
    ),
    Permission(
        need=Need.CLUSTER,
        resource=NODES,
        verbs=("get",),
        why="whether the node of a pod that does not go away still exists",
    ),
    Permission(
        need=Need.LEADERSHIP,
        resource=LEASES,
        verbs=("get", "create", "update"),
        has_one_name=True,
        why="only one of several operators works",
    ),
    Permission(
        need=Need.PRIORITIES,
        resource=PRIORITY_CLASSES,
        verbs=("get",),
        why="which replicas a group that is too small for all of them counts first",
    ),
)
