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
    job_why="followed; read afresh after a conflict; completed with defaults and a RuntimeId",
    access=(
        Access(
            api=ChildApi("Job", "batch", "v1", "jobs"),
            verbs=(*INFORMER_VERBS, "create", "patch", "delete"),
            why="one per replica, which makes its pods; get when a name is taken;"
            " patch suspends one whose end was permanent",
        ),
        Access(
            api=CONFIG_MAPS,
            verbs=(*INFORMER_VERBS, "create"),
            why="the program of parameter servers without a template; get when a name is taken",
        ),
        Access(
            api=DEPLOYMENTS,
            verbs=(*INFORMER_VERBS, "create", "patch"),
            why="the TensorBoard of a job; patch to put it to sleep; get when a name is taken",
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
            help="config of tensorflow.org TfJobs: a YAML file, or the folder that contains it",
            file_names=config.FILE_NAMES,
            read=config.read_file,
        ),
    ),
)
