"""Descriptor of batch.tensorstack.dev TensorFlowTrainingJobs."""

from tfjob.dialects.descriptor import CHILD_VERBS, INFORMER_VERBS, Access, Descriptor, Flag
from tfjob.dialects.tensorstack import tensorboard
from tfjob.dialects.tensorstack.t9k_scheduler import (
    BACKENDS,
    FLAG,
    OWN_GROUPS,
    T9K,
    VOLCANO,
    VOLCANO_GROUPS,
)
from tfjob.dialects.tensorstack.v1beta1 import TensorStackV1beta1

_BACKEND = "operator.t9kPodGroupBackend"
_GROUP = "one PodGroup per job, so that its pods are scheduled together"

DESCRIPTOR = Descriptor(
    name="tensorstack",
    scheme="tensorflowtrainingjob",
    dialects=(TensorStackV1beta1(),),
    job_why="watch the jobs; get before an adoption and after a conflict",
    suspend_path=("spec", "runMode", "pause", "enabled"),
    access=(
        Access(
            api=tensorboard.OWN,
            verbs=(*INFORMER_VERBS, "create", "patch"),
            why="run the TensorBoard of a job; patch to suspend it; get when a name is taken",
        ),
        Access(
            api=tensorboard.VENDOR,
            verbs=(*INFORMER_VERBS, "create", "patch"),
            why="request a TensorBoard from the controller of the T9k platform",
        ),
        Access(option=T9K, api=OWN_GROUPS, verbs=CHILD_VERBS, why=_GROUP),
        Access(option=VOLCANO, api=VOLCANO_GROUPS, verbs=CHILD_VERBS, why=_GROUP),
    ),
    options={
        T9K: f'eq .Values.{_BACKEND} "{T9K}"',
        VOLCANO: f'eq .Values.{_BACKEND} "{VOLCANO}"',
    },
    flags=(
        Flag(
            name=FLAG,
            choices=BACKENDS,
            help="kind of PodGroups for TensorFlowTrainingJobs with a queue",
            value=_BACKEND,
            local="none",
        ),
    ),
)
