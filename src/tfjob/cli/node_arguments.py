"""The arguments that say what this machine gives to replicas."""

import argparse

from tfjob.local.node.overcommit import Overcommit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fit",
        action="store_true",
        help="run jobs that request more than this machine has: requests are ignored, GPUs shared",
    )
    parser.add_argument(
        "--share-gpus",
        action="store_true",
        help="let replicas share the GPUs of this machine (default: each has its own)",
    )
    parser.add_argument(
        "--no-real-mounts",
        dest="real_mounts",
        action="store_false",
        help="translate mount paths but do not mount them, for setuid programs such as sudo",
    )


def overcommit(arguments: argparse.Namespace) -> Overcommit:
    return Overcommit(requests=arguments.fit, gpus=arguments.share_gpus)


def flags(arguments: argparse.Namespace) -> list[str]:
    """The arguments that were given, to be passed on."""
    given = {
        "--fit": arguments.fit,
        "--share-gpus": arguments.share_gpus,
        "--no-real-mounts": not arguments.real_mounts,
    }
    return [flag for flag, is_given in given.items() if is_given]
