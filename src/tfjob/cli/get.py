"""`tfjob get [JOB…]`: the jobs of a cluster in all APIs, one line each."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import msgspec

from tfjob.cli import cluster, job_arguments, printing
from tfjob.cli.job_watch import changed_jobs
from tfjob.cli.output_reader import ended_with_reader
from tfjob.sdk import job_lookup, jobs
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.yaml_text import as_yaml


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="names of jobs (default: all jobs)")
    parser.add_argument(
        "-o",
        "--output",
        choices=("table", "wide", "name", "json", "yaml"),
        default="table",
        help="output format (default: table)",
    )
    parser.add_argument(
        "-l", "--selector", default="", metavar="LABELS", help="only jobs with these labels"
    )
    parser.add_argument(
        "-w", "--watch", action="store_true", help="then print each job that changes, until Ctrl-C"
    )
    job_arguments.add_argument(parser)
    cluster.add_arguments(parser, all_namespaces=True)


def run(arguments: argparse.Namespace) -> int:
    if arguments.jobs and arguments.selector:
        sys.stderr.write("error: choose jobs by their names or by `-l LABELS`, not by both\n")
        return 2
    if arguments.watch and arguments.output not in {"table", "wide"}:
        sys.stderr.write("error: --watch prints a table; leave out -o, or use `-o wide`\n")
        return 2

    async def work(connected: Cluster) -> int:
        errors: list[str] = []
        if arguments.jobs:
            found = await _named(connected, arguments, errors)
        else:
            found = await _all(connected, arguments)
        if found or (arguments.output in {"json", "yaml"} and not errors):
            sys.stdout.write(_rendered(found, arguments.output, connected.namespace) + "\n")
        elif not errors:
            where = connected.namespace or "any namespace"
            sys.stderr.write(f"No jobs found in {where}.\n")
        sys.stdout.flush()
        for error in errors:
            sys.stderr.write(f"error: {printing.plain(error)}\n")
        if arguments.watch and not errors:
            await _follow(connected, arguments, found)
        return 1 if errors else 0

    return cluster.run(arguments, work)


async def _named(
    connected: Cluster, arguments: argparse.Namespace, errors: list[str]
) -> list[jobs.ClusterJob]:
    """The jobs of these names; a name without a job adds an error and hides no other job."""
    found = []
    for name in arguments.jobs:
        try:
            found.append(await job_lookup.find(connected, name, api=arguments.api))
        except TFJobError as error:
            errors.append(str(error))
    return found


async def _all(connected: Cluster, arguments: argparse.Namespace) -> list[jobs.ClusterJob]:
    """All jobs of the APIs that the user may list; the others are named on stderr."""
    listing = await job_lookup.find_all(connected, api=arguments.api, labels=arguments.selector)
    for refusal in listing.refusals:
        sys.stderr.write(f"not listed: {printing.plain(refusal.message)}\n")
    return listing.found


async def _follow(
    connected: Cluster, arguments: argparse.Namespace, shown: Sequence[jobs.ClusterJob]
) -> None:
    """Print a row whenever one of the jobs looks different."""
    is_wide = arguments.output == "wide" or len({each.dialect.group for each in shown}) > 1
    printed = {each.job.owner.uid: _look(each) for each in shown}
    names = {name.rpartition("/")[2] for name in arguments.jobs}
    stream = changed_jobs(connected, job_lookup.chosen(arguments.api), labels=arguments.selector)
    async with ended_with_reader(), aclosing(stream) as changes:
        async for each in changes:
            uid, look = each.job.owner.uid, _look(each)
            if (names and each.name not in names) or printed.get(uid) == look:
                continue
            printed[uid] = look
            row = _row(each, is_wide=is_wide)
            place = [each.namespace] if connected.namespace is None else []
            sys.stdout.write("   ".join(map(printing.plain_line, [*place, *row])) + "\n")
            sys.stdout.flush()


def _rendered(found: Sequence[jobs.ClusterJob], style: str, namespace: str | None) -> str:
    if style == "name":
        return "\n".join(job_lookup.full_name(each) for each in found)
    if style in {"json", "yaml"}:
        return _raw([each.manifest for each in found], style)
    is_wide = style == "wide" or len({each.dialect.group for each in found}) > 1
    head = ["NAME", "STATE", "ACTIVE", "RESTARTS", "REPLICAS", "AGE"]
    head += ["API"] if is_wide else []
    rows = [_row(each, is_wide=is_wide) for each in found]
    if namespace is None:
        head.insert(0, "NAMESPACE")
        rows = [[each.namespace, *row] for each, row in zip(found, rows, strict=True)]
    return printing.table(head, rows)


def _look(found: jobs.ClusterJob) -> tuple[object, ...]:
    """What a row shows, except the age."""
    counts = (jobs.active_text(found), found.status.restarts, jobs.replicas_text(found))
    return (found.state, *counts)


def _row(found: jobs.ClusterJob, *, is_wide: bool) -> list[str]:
    now = datetime.now(tz=UTC)
    row = [
        found.name,
        found.state,
        jobs.active_text(found),
        str(found.status.restarts),
        jobs.replicas_text(found),
        printing.age(found.created, now),
    ]
    api = f"{found.dialect.group}/{found.dialect.version}"
    return [*row, api] if is_wide else row


def _raw(manifests: list[dict[str, Any]], style: str) -> str:
    shown: Any = manifests[0] if manifests else None
    if len(manifests) != 1:
        shown = {"apiVersion": "v1", "kind": "List", "items": manifests}
    if style == "json":
        return msgspec.json.format(msgspec.json.encode(shown)).decode()
    return as_yaml(shown).rstrip("\n")
