"""Descriptor of tensorflow.org TfJobs."""

from tfjob.dialects.base import ChildApi
from tfjob.dialects.descriptor import INFORMER_VERBS, Access, Descriptor, FileFlag, Flag
from tfjob.dialects.tensorflow import accelerators, config
from tfjob.dialects.tensorflow.v1alpha1 import CONFIG_MAPS, DEPLOYMENTS, TensorflowV1alpha1

DESCRIPTOR = Descriptor(
    name="tensorflow",
    scheme="tfjob.tensorflow.org",
    dialects=(TensorflowV1alpha1(),),
    job_verbs=("update",),
    job_why="watch the jobs; get after a conflict; update to store defaults and the RuntimeId",
    access=(
        Access(
            api=ChildApi("Job", "batch", "v1", "jobs"),
            verbs=(*INFORMER_VERBS, "create", "patch", "delete"),
            why="one per replica, to run its pods; get when a name is taken;"
            " patch to suspend one that failed permanently",
        ),
        Access(
            api=CONFIG_MAPS,
            verbs=(*INFORMER_VERBS, "create"),
            why="the program of default parameter servers; get when a name is taken",
        ),
        Access(
            api=DEPLOYMENTS,
            verbs=(*INFORMER_VERBS, "create", "patch"),
            why="run the TensorBoard of a job; patch to suspend it; get when a name is taken",
        ),
    ),
    flags=(
        Flag(
            name=accelerators.FLAG,
            choices=("true", "false"),
            help="pods of TfJobs that ask for alpha.kubernetes.io/nvidia-gpu ask for nvidia.com/gpu"
            " instead",
            value="operator.translateLegacyGpu",
            local="true",
        ),
    ),
    file_flags=(
        FileFlag(
            name=config.FLAG,
            alias="controller_config_file",
            help="configuration of tensorflow.org TfJobs: a YAML file, or the folder that has it",
            file_names=config.FILE_NAMES,
            read=config.read_file,
        ),
    ),
)
