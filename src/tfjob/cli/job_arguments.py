"""The arguments by which commands choose jobs."""

import argparse
from datetime import timedelta

from tfjob.cli import cluster
from tfjob.manager.settings import duration


def add_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--api", metavar="API", help="only jobs of this API, such as kubeflow.org")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of a command that works on named jobs."""
    parser.add_argument("jobs", nargs="+", metavar="JOB", help="names of jobs")
    add_argument(parser)
    cluster.add_arguments(parser)


def add_logs_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--logs",
        default="all",
        metavar="REPLICAS",
        help="whose log to print: all (default), none, a replica type (worker) or one replica"
        " (worker-0)",
    )


def limit(text: str) -> timedelta:
    """A time after which a command gives up."""
    found = duration(text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text}: must be longer than 0 s; omit it for no limit")
    return found
