"""What the operator asks of an API server, as one table: the only source of the roles it gets.

A line names a kind of object, the verbs, when they are needed, and why. What is not in the table
the operator is not allowed to do; what is in it and never asked for is a fault. Pure data.
"""

from enum import StrEnum
from typing import Final

import msgspec

from tfjob.client.resource import EVENTS, LEASES, PODS, SERVICES, Resource
from tfjob.controller.facts import NODES, PRIORITY_CLASSES
from tfjob.controller.kinds import resource_of
from tfjob.dialects.kubeflow.gang import SCHEDULER_PLUGINS, VOLCANO
from tfjob.dialects.kubeflow_v1 import KubeflowV1


class Need(StrEnum):
    """What an operator must be set to do before it needs a permission."""

    JOBS = "jobs"
    """Always: in each namespace whose jobs are served."""
    CLUSTER = "cluster"
    """Wherever it may: of objects that no namespace holds. Without it the operator still works."""
    LEADERSHIP = "leadership"
    """With leader election: in the operator's own namespace."""
    VOLCANO = "volcano"
    """With gang scheduling by Volcano."""
    SCHEDULER_PLUGINS = "schedulerPlugins"
    """With gang scheduling by any other scheduler."""
    PRIORITIES = "priorities"
    """With gang scheduling, of objects that no namespace holds."""


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    """The verbs that are needed on one kind of object."""

    need: Need
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


TFJOBS: Final = Resource(KubeflowV1.group, KubeflowV1.version, KubeflowV1.plural)
_FOLLOWED: Final = ("get", "list", "watch")
_CHILD: Final = ("get", "list", "watch", "create", "patch", "delete")

PERMISSIONS: Final = (
    Permission(
        need=Need.JOBS,
        resource=TFJOBS,
        verbs=(*_FOLLOWED, "delete"),
        why="followed; read afresh before an adoption and after a conflict; deleted after "
        "ttlSecondsAfterFinished",
    ),
    Permission(
        need=Need.JOBS,
        resource=TFJOBS,
        subresource="status",
        verbs=("update",),
        why="conditions and counts",
    ),
    Permission(
        need=Need.JOBS,
        resource=TFJOBS,
        subresource="finalizers",
        verbs=("update",),
        why="never sent: servers that enforce permissions on owner references ask for it before "
        "a child may hold up the deletion of its job",
    ),
    Permission(
        need=Need.JOBS,
        resource=PODS,
        verbs=_CHILD,
        why="the replicas; get when a name is taken, patch to adopt and to let go",
    ),
    Permission(
        need=Need.JOBS,
        resource=SERVICES,
        verbs=_CHILD,
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
        need=Need.VOLCANO,
        resource=resource_of(VOLCANO),
        verbs=_CHILD,
        why="one group per job, so that its pods are placed together",
    ),
    Permission(
        need=Need.SCHEDULER_PLUGINS,
        resource=resource_of(SCHEDULER_PLUGINS),
        verbs=_CHILD,
        why="one group per job, so that its pods are placed together",
    ),
    Permission(
        need=Need.PRIORITIES,
        resource=PRIORITY_CLASSES,
        verbs=("get",),
        why="which replicas a group that is too small for all of them counts first",
    ),
)
