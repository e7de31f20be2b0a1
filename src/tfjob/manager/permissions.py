"""The permissions that the operator needs: the only source of its RBAC roles.

Each entry names a resource, the verbs, when they are needed, and why. The operator sends only
requests that the table allows, and needs every permission in it.
"""

from enum import StrEnum
from typing import Final

import msgspec

from tfjob.client.resource import EVENTS, LEASES, PODS, SERVICES, Resource
from tfjob.controller.child_kinds import resource_of
from tfjob.controller.cluster_lookups import NODES, PRIORITY_CLASSES
from tfjob.dialects.descriptor import CHILD_VERBS, INFORMER_VERBS, Descriptor
from tfjob.dialects.registry import DESCRIPTORS
from tfjob.manager.metrics_access import ACCESS_REVIEWS, TOKEN_REVIEWS


class Need(StrEnum):
    """When a permission is needed, apart from those of single dialects."""

    JOBS = "jobs"
    """Always, in each namespace whose jobs are served."""
    CLUSTER = "cluster"
    """Cluster-scoped and optional: the operator works without it."""
    LEADERSHIP = "leadership"
    """With leader election, in the operator's own namespace."""
    METRICS = "metrics"
    """With reviews of who reads the metrics; cluster-scoped."""
    PRIORITIES = "priorities"
    """With gang scheduling; cluster-scoped."""


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    """The verbs that are needed on one resource."""

    need: str
    """A `Need`, or the result of `need_of` for a dialect or one of its options."""
    resource: Resource
    verbs: tuple[str, ...]
    subresource: str = ""
    has_one_name: bool = False
    """Only one object is used, and its name is known at installation."""
    why: str

    @property
    def name(self) -> str:
        """The resource as a role names it."""
        plural = self.resource.plural
        return f"{plural}/{self.subresource}" if self.subresource else plural


def need_of(descriptor: Descriptor, option: str = "") -> str:
    """The need of permissions for one dialect, or for one of the dialect's options."""
    return f"{descriptor.name}.{option}" if option else descriptor.name


def permissions_for(descriptor: Descriptor) -> tuple[Permission, ...]:
    """The permissions for serving the jobs of one dialect."""
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
    purpose = "never sent; required by OwnerReferencesPermissionEnforcement to set "
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
            why="write conditions and replica counts",
        ),
        Permission(
            need=need,
            resource=jobs,
            subresource="finalizers",
            verbs=("update",),
            why=f"{purpose}blockOwnerDeletion on children",
        ),
    )


PERMISSIONS: Final = (
    *(each for descriptor in DESCRIPTORS for each in permissions_for(descriptor)),
    Permission(
        need=Need.JOBS,
        resource=PODS,
        verbs=CHILD_VERBS,
        why="run the replicas; get when a name is taken, patch to adopt and release",
    ),
    Permission(
        need=Need.JOBS,
        resource=SERVICES,
        verbs=CHILD_VERBS,
        why="one per replica, for its DNS name; get and patch as for pods",
    ),
    Permission(
        need=Need.JOBS,
        resource=EVENTS,
        verbs=("get", "list", "create", "patch"),
        why="record events of jobs; get and patch to update the count of earlier ones; list those"
        " of a pod that does not start or was killed although it has a probe",
    ),
    Permission(
        need=Need.CLUSTER,
        resource=NODES,
        verbs=("get",),
        why="check whether the node of a stuck pod still exists",
    ),
    Permission(
        need=Need.LEADERSHIP,
        resource=LEASES,
        verbs=("get", "create", "update"),
        has_one_name=True,
        why="leader election",
    ),
    Permission(
        need=Need.METRICS,
        resource=TOKEN_REVIEWS,
        verbs=("create",),
        why="check the token of who reads the metrics",
    ),
    Permission(
        need=Need.METRICS,
        resource=ACCESS_REVIEWS,
        verbs=("create",),
        why="check whether they have the permission to",
    ),
    Permission(
        need=Need.PRIORITIES,
        resource=PRIORITY_CLASSES,
        verbs=("get",),
        why="compute minResources of a PodGroup whose minMember is below the replica count",
    ),
)
