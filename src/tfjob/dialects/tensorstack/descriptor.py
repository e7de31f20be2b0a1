"""Descriptor of batch.tensorstack.dev TensorFlowTrainingJobs."""

from tfjob.dialects.descriptor import CHILD_VERBS, INFORMER_VERBS, Access, Descriptor, Flag
from tfjob.dialects.tensorstack import gang, tensorboard
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
        Access(option=gang.T9K, api=gang.OWN_GROUPS, verbs=CHILD_VERBS, why=_GROUP),
        Access(option=gang.VOLCANO, api=gang.VOLCANO_GROUPS, verbs=CHILD_VERBS, why=_GROUP),
    ),
    options={
        gang.T9K: f'eq .Values.{_BACKEND} "{gang.T9K}"',
        gang.VOLCANO: f'eq .Values.{_BACKEND} "{gang.VOLCANO}"',
    },
    flags=(
        Flag(
            name=gang.FLAG,
            choices=gang.BACKENDS,
            help="kind of PodGroups for TensorFlowTrainingJobs with a queue",
            value=_BACKEND,
            local="none",
        ),
    ),
)
