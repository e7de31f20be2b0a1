"""What the operator asks of an API server, as one table: the only source of the roles it gets.

A line names a kind of object, the verbs, when they are needed, and why. What is not in the table
the operator is not allowed to do; what is in it and never asked for is a fault. Pure data.
"""

from enum import StrEnum
from typing import Final

import msgspec

from tfjob.client.resource import EVENTS, LEASES, PODS, SERVICES, Resource
from tfjob.controller.facts import NODES, PRIORITY_CLASSES
from tfjob.controller.kinds import BATCH_JOBS, resource_of
from tfjob.dialects.base import Dialect
from tfjob.dialects.kubeflow.gang import SCHEDULER_PLUGINS, VOLCANO
from tfjob.dialects.kubeflow_v1 import KubeflowV1
from tfjob.dialects.tensorflow_v1alpha1 import TensorflowV1alpha1
from tfjob.dialects.tensorstack.gang import OWN_GROUPS
from tfjob.dialects.tensorstack.tensorboard import VENDOR
from tfjob.dialects.tensorstack_v1beta1 import TensorStackV1beta1


class Need(StrEnum):
    """What an operator must be set to do before it needs a permission."""

    JOBS = "jobs"
    """Always: in each namespace whose jobs are served."""
    KUBEFLOW = "kubeflow"
    """For TFJobs of kubeflow.org."""
    TENSORFLOW = "tensorflow"
    """For TfJobs of tensorflow.org."""
    TENSORSTACK = "tensorstack"
    """For TensorFlowTrainingJobs of batch.tensorstack.dev."""
    BOARDS = "boards"
    """For jobs that bring their TensorBoard: those of tensorflow.org and batch.tensorstack.dev."""
    CLUSTER = "cluster"
    """Wherever it may: of objects that no namespace holds. Without it the operator still works."""
    LEADERSHIP = "leadership"
    """With leader election: in the operator's own namespace."""
    VOLCANO = "volcano"
    """With gang scheduling by Volcano, also in place of the T9k scheduler."""
    T9K = "t9k"
    """With gang scheduling by the T9k scheduler."""
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


_FOLLOWED: Final = ("get", "list", "watch")
_CHILD: Final = ("get", "list", "watch", "create", "patch", "delete")


def _of_jobs(
    need: Need, dialect: Dialect, *, more: tuple[str, ...] = (), why: str
) -> tuple[Permission, ...]:
    """What the jobs of one dialect themselves are asked for."""
    jobs = Resource(dialect.group, dialect.version, dialect.plural)
    seldom = "never sent: servers that enforce permissions on owner references ask for it before "
    return (
        Permission(need=need, resource=jobs, verbs=(*_FOLLOWED, *more), why=why),
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
    *_of_jobs(
        Need.KUBEFLOW,
        KubeflowV1(),
        more=("delete",),
        why="followed; read afresh before an adoption and after a conflict; deleted after "
        "ttlSecondsAfterFinished",
    ),
    *_of_jobs(
        Need.TENSORFLOW,
        TensorflowV1alpha1(),
        more=("update",),
        why="followed; read afresh after a conflict; completed with defaults and a RuntimeId",
    ),
    *_of_jobs(
        Need.TENSORSTACK,
        TensorStackV1beta1(),
        why="followed; read afresh before an adoption and after a conflict",
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
        need=Need.TENSORFLOW,
        resource=BATCH_JOBS,
        verbs=_CHILD,
        why="one per replica, which makes its pods; get when a name is taken; patch suspends one"
        " whose end was permanent",
    ),
    Permission(
        need=Need.TENSORFLOW,
        resource=Resource("", "v1", "configmaps"),
        verbs=(*_FOLLOWED, "create"),
        why="the program of parameter servers without a template; get when a name is taken",
    ),
    Permission(
        need=Need.BOARDS,
        resource=Resource("apps", "v1", "deployments"),
        verbs=(*_FOLLOWED, "create", "patch"),
        why="the TensorBoard of a job; patch to put it to sleep; get when a name is taken",
    ),
    Permission(
        need=Need.TENSORSTACK,
        resource=resource_of(VENDOR),
        verbs=(*_FOLLOWED, "create", "patch"),
        why="the TensorBoard of a job, where the platform's own controller runs it",
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
        need=Need.T9K,
        resource=resource_of(OWN_GROUPS),
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
