"""`tfjob submit FILE…`: create the jobs of files on a cluster, and the objects beside them.

The files are checked offline first, then by a dry run on the API server: a fault creates nothing.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from tfjob.cli import cluster
from tfjob.cli.cluster import CommandError
from tfjob.cli.placed_advice import advice_on
from tfjob.cli.printing import plain
from tfjob.sdk import documents, submission
from tfjob.sdk.connection import Cluster
from tfjob.sdk.documents import Document
from tfjob.sdk.exported_objects import left_out
from tfjob.sdk.job_documents import check_all, fault_report

BAD_INPUT = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="YAML file; - reads stdin")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="let the API server check the objects without creating them",
    )
    cluster.add_arguments(parser)
    parser.epilog = (
        "Exit codes: 0 everything is created, 1 the cluster rejects an object, 2 a file has faults."
        " A job that exists is an error; other objects that exist are left unchanged."
    )


def run(arguments: argparse.Namespace) -> int:
    try:
        read = [each for file in arguments.files for each in documents.read(file)]
    except documents.DocumentError as error:
        return _fail([str(error)])
    checked = check_all(read)
    faults = fault_report(checked)
    if faults or not checked:
        return _fail(faults or [f"{', '.join(arguments.files)}: no job in it"])
    for each in checked:
        for warning in advice_on(each):
            place = warning.place(each.document)
            sys.stderr.write(plain(f"{each.title}: {place}warning: {warning.text}\n"))
    for document in read:
        if text := left_out(document.value):
            sys.stderr.write(f"{plain(text)}\n")

    async def work(connected: Cluster) -> int:
        objects = [_placed(each, connected.one_namespace, arguments) for each in read]
        await submission.dry_run(connected, objects)
        if arguments.dry_run:
            titles = (submission.title(each) for each in objects)
            sys.stdout.write("".join(f"{each} can be created\n" for each in titles))
            return 0
        for each in objects:
            made = await submission.create(connected, each)
            result = "created" if made.is_new else "exists, unchanged"
            sys.stdout.write(f"{made.title} {result}\n")
        return 0

    return cluster.run(arguments, work)


def _placed(document: Document, namespace: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """The object with its namespace; --namespace must not contradict the file."""
    value = document.value
    metadata = value.get("metadata") or {}
    own = metadata.get("namespace")
    if own and arguments.namespace and own != arguments.namespace:
        raise CommandError(
            f"{document.file}: metadata.namespace is {own!r}, but --namespace is"
            f" {arguments.namespace!r}; change one of them"
        )
    return submission.placed(value, namespace)


def _fail(lines: Sequence[str]) -> int:
    for line in lines:
        sys.stderr.write(f"{plain(line)}\n")
    return BAD_INPUT
