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
from tfjob.client.errors import AlreadyExists, ApiError, NotFound
from tfjob.client.http import PartialObjectMetadata
from tfjob.dialects.registry import dialect_for
from tfjob.sdk import documents
from tfjob.sdk.apply import resource_for
from tfjob.sdk.connection import Cluster
from tfjob.sdk.documents import Document
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

    async def work(connected: Cluster) -> int:
        objects = [_placed(each, connected.one_namespace, arguments) for each in read]
        await _dry_run(connected, objects)
        if arguments.dry_run:
            sys.stdout.write("".join(f"{_title(each)} can be created\n" for each in objects))
            return 0
        for each in objects:
            await _create(connected, each)
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
    if not resource_for(value).namespaced:
        return dict(value)
    return {**value, "metadata": {**metadata, "namespace": own or namespace}}


async def _dry_run(connected: Cluster, objects: Sequence[dict[str, Any]]) -> None:
    faults = []
    own = {each["metadata"].get("name") for each in objects if each.get("kind") == "Namespace"}
    for each in objects:
        if each["metadata"].get("namespace") in own:
            continue  # a dry run needs the namespace, which the file itself creates
        try:
            await _post(connected, each, dry_run=True)
        except AlreadyExists:
            if _is_job(each):
                name = each["metadata"].get("name")
                faults.append(f"{_title(each)} exists; `tfjob delete {name}` removes it")
        except NotFound as error:
            faults.append(f"{_title(each)}: {_not_found(each, error)}")
        except ApiError as error:
            faults.append(f"{_title(each)}: {error.message}")
    if faults:
        raise CommandError("\n".join(faults))


def _not_found(manifest: dict[str, Any], error: NotFound) -> str:
    if "namespace" not in error.message:
        return f"the cluster does not serve {manifest['apiVersion']}"
    namespace = manifest["metadata"].get("namespace")
    return f"{error.message}; `kubectl create namespace {namespace}` creates it"


async def _create(connected: Cluster, manifest: dict[str, Any]) -> None:
    try:
        made = await _post(connected, manifest)
    except AlreadyExists:
        if _is_job(manifest):
            raise
        sys.stdout.write(f"{_title(manifest)} exists, unchanged\n")
        return
    named = {**manifest, "metadata": {**manifest["metadata"], "name": made.metadata.name}}
    sys.stdout.write(f"{_title(named)} created\n")


async def _post(
    connected: Cluster, manifest: dict[str, Any], *, dry_run: bool = False
) -> PartialObjectMetadata:
    path = resource_for(manifest).collection(manifest["metadata"].get("namespace"))
    return await connected.api.create(
        path,
        manifest,
        decode=PartialObjectMetadata,
        field_validation="Strict",
        dry_run=dry_run,
    )


def _is_job(manifest: dict[str, Any]) -> bool:
    return dialect_for(manifest.get("apiVersion"), manifest.get("kind")) is not None


def _title(manifest: dict[str, Any]) -> str:
    metadata = manifest["metadata"]
    name = metadata.get("name") or f"{metadata.get('generateName', '')}…"
    place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{manifest.get('kind')} {place}{name}"


def _fail(lines: Sequence[str]) -> int:
    for line in lines:
        sys.stderr.write(f"{plain(line)}\n")
    return BAD_INPUT
