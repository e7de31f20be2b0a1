"""The arguments by which commands choose jobs."""

import argparse

from tfjob.cli import cluster


def add_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--api", metavar="API", help="only jobs of this API, such as kubeflow.org")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of a command that works on named jobs."""
    parser.add_argument("jobs", nargs="+", metavar="JOB", help="names of jobs")
    add_argument(parser)
    cluster.add_arguments(parser)
