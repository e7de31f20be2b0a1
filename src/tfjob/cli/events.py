"""`tfjob events JOB`: the events of a job and its pods, oldest first."""

import argparse
import sys
from contextlib import aclosing
from datetime import UTC, datetime

from tfjob.cli import cluster, job_arguments, printing
from tfjob.cli.output_reader import ended_with_reader
from tfjob.sdk import job_lookup
from tfjob.sdk.connection import Cluster
from tfjob.sdk.job_events import WARNING, JobEvent, is_about, list_events, watch_events
from tfjob.sdk.jobs import ClusterJob

_HEAD = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")
_WIDTHS = (12, 10, 26, 30, 0)
"""The column widths of followed events, whose longest cell is not known in advance."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="name of the job")
    parser.add_argument(
        "-w", "--watch", action="store_true", help="print new events as they occur, until Ctrl-C"
    )
    parser.add_argument("--warnings", action="store_true", help="print only events of type Warning")
    job_arguments.add_argument(parser)
    cluster.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    fields = f"type={WARNING}" if arguments.warnings else ""

    async def work(connected: Cluster) -> int:
        found = await job_lookup.find(connected, arguments.job, api=arguments.api)
        if arguments.watch:
            await _follow(connected, found, fields)
            return 0
        events = await list_events(connected.api, found.namespace, fields=fields)
        rows = [_row(each) for each in events if is_about(found, each)]
        if rows:
            sys.stdout.write(printing.table(list(_HEAD), rows) + "\n")
        else:
            sys.stderr.write(f"No events found for {found.title}.\n")
        return 0

    return cluster.run(arguments, work, looks_at=[arguments.job])


async def _follow(connected: Cluster, found: ClusterJob, fields: str) -> None:
    stream = watch_events(connected.api, found.namespace, fields=fields)
    async with ended_with_reader(), aclosing(stream) as events:
        async for each in events:
            if is_about(found, each):
                cells = zip(_row(each), _WIDTHS, strict=True)
                line = "".join(cell.ljust(width) for cell, width in cells).rstrip()
                sys.stdout.write(line + "\n")
                sys.stdout.flush()


def _row(event: JobEvent) -> list[str]:
    now = datetime.now(tz=UTC)
    involved = event.involved_object
    count = f" (x{event.occurrences})" if event.occurrences > 1 else ""
    return [
        printing.age(event.last_seen, now),
        printing.plain_line(event.type),
        printing.plain_line(event.reason),
        printing.plain_line(f"{involved.kind.lower()}/{involved.name}"),
        printing.plain_line(f"{event.message}{count}"),
    ]
