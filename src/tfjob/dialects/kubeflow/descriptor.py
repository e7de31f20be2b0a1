"""Descriptor of kubeflow.org TFJobs."""

from tfjob.dialects.descriptor import CHILD_VERBS, Access, Descriptor
from tfjob.dialects.kubeflow.scheduling_policy import KUBERNETES, SCHEDULER_PLUGINS, VOLCANO
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.dialects.kubeflow.v1beta1 import KubeflowV1beta1

_GROUP = "one PodGroup per job, so that its pods are scheduled together"

DESCRIPTOR = Descriptor(
    name="kubeflow",
    scheme="tfjob",
    dialects=(KubeflowV1(), KubeflowV1beta1()),
    is_default=True,
    job_verbs=("delete",),
    job_why="watch the jobs; get before an adoption and after a conflict; delete after "
    "ttlSecondsAfterFinished",
    suspend_path=("spec", "runPolicy", "suspend"),
    access=(
        Access(option="volcano", api=VOLCANO, verbs=CHILD_VERBS, why=_GROUP),
        Access(option="schedulerPlugins", api=SCHEDULER_PLUGINS, verbs=CHILD_VERBS, why=_GROUP),
        Access(option="kubernetes", api=KUBERNETES, verbs=CHILD_VERBS, why=_GROUP),
    ),
    options={
        "volcano": 'eq (include "tfjob.gang" .) "volcano"',
        "schedulerPlugins": 'eq (include "tfjob.gang" .) "schedulerPlugins"',
        "kubernetes": 'eq (include "tfjob.gang" .) "kubernetes"',
    },
)
