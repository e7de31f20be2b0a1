"""`tfjob get [JOB…]`: the jobs of a cluster in all APIs, one line each."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import aclosing
from typing import Final

from tfjob.cli import cluster, job_arguments, printing
from tfjob.cli.job_output import is_table, output_format, rendered, row, sort_path, sorted_by
from tfjob.cli.job_watch import changed_jobs
from tfjob.cli.output_reader import ended_with_reader
from tfjob.sdk import job_lookup, jobs, template_changes
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError

_NONE: Final = "<none>"
"""An empty cell, as kubectl prints it."""
_MAX_CONCURRENT: Final = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="names of jobs (default: all jobs)")
    parser.add_argument(
        "-o",
        "--output",
        type=output_format,
        default="table",
        metavar="FORMAT",
        help="table (default), wide, name, json, yaml, or jsonpath=TEMPLATE",
    )
    parser.add_argument(
        "--sort-by", type=sort_path, default="", metavar="PATH", help="sort by this JSONPath"
    )
    parser.add_argument(
        "-l", "--selector", default="", metavar="LABELS", help="only jobs with these labels"
    )
    parser.add_argument(
        "-w", "--watch", action="store_true", help="also print jobs as they change, until Ctrl-C"
    )
    job_arguments.add_argument(parser)
    cluster.add_arguments(parser, all_namespaces=True)


def run(arguments: argparse.Namespace) -> int:
    if arguments.jobs and arguments.selector:
        sys.stderr.write("error: choose jobs by their names or by `-l LABELS`, not by both\n")
        return 2
    if arguments.watch and not is_table(arguments.output):
        sys.stderr.write("error: --watch prints a table; leave out -o, or use `-o wide`\n")
        return 2

    async def work(connected: Cluster) -> int:
        errors: list[str] = []
        if arguments.jobs:
            found = await _named(connected, arguments, errors)
        else:
            found = await _all(connected, arguments)
        if arguments.sort_by:
            found = sorted_by(found, arguments.sort_by)
        if found or (arguments.output in {"json", "yaml"} and not errors):
            is_list = len(arguments.jobs) != 1
            is_wide = arguments.output == "wide"
            outdated = await _all_outdated(connected, found) if is_wide else []
            place = connected.namespace
            text = rendered(found, arguments.output, place, is_list=is_list, outdated=outdated)
            sys.stdout.write(f"{text}\n")
        elif not errors:
            where = connected.namespace or "any namespace"
            sys.stderr.write(f"No jobs found in {where}.\n")
        sys.stdout.flush()
        for error in errors:
            sys.stderr.write(f"error: {printing.plain(error)}\n")
        if arguments.watch and not errors:
            await _follow(connected, arguments, found)
        return 1 if errors else 0

    return cluster.run(arguments, work, looks_at=arguments.jobs)


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


async def _all_outdated(connected: Cluster, found: Sequence[jobs.ClusterJob]) -> list[str]:
    """The cells of all jobs; the pods of several jobs are read at the same time."""
    slots = asyncio.Semaphore(_MAX_CONCURRENT)

    async def cell(each: jobs.ClusterJob) -> str:
        async with slots:
            return await _outdated(connected, each)

    return await asyncio.gather(*map(cell, found))


async def _outdated(connected: Cluster, found: jobs.ClusterJob) -> str:
    """The replicas that run with an older template than the job has now."""
    if not template_changes.has_changed(found):
        return _NONE
    manifests = await jobs.pod_manifests(connected, found)
    replicas = template_changes.outdated_replicas(found, manifests)
    return jobs.joined(replicas) if replicas else _NONE


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
            cells = row(each, is_wide=is_wide)
            if arguments.output == "wide":
                cells.append(await _outdated(connected, each))
            place = [each.namespace] if connected.namespace is None else []
            sys.stdout.write("   ".join(map(printing.plain_line, [*place, *cells])) + "\n")
            sys.stdout.flush()


def _look(found: jobs.ClusterJob) -> tuple[object, ...]:
    """What a row shows, except the age."""
    counts = (jobs.active_text(found), jobs.restarts(found), jobs.replicas_text(found))
    return (found.state, *counts)
