"""`tfjob preflight FILE`: whether a job would start on this cluster now, and if not, why.

The file is checked offline first. On the cluster nothing is created.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from tfjob.cli import cluster
from tfjob.cli.plan import as_new, planned
from tfjob.cli.preflight_checks import Finding, Subject, Verdict, findings
from tfjob.cli.printing import plain, plain_line
from tfjob.core.job import Job
from tfjob.dialects.base import Settings
from tfjob.sdk import documents, jobs, submission
from tfjob.sdk.connection import Cluster
from tfjob.sdk.job_documents import CheckedDocument, check_all, fault_report

WOULD_START, WOULD_NOT, BAD_INPUT = 0, 1, 2
_TITLES = {Verdict.OK: "ok", Verdict.FAILS: "FAILS", Verdict.UNKNOWN: "unknown"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="YAML file; - reads stdin")
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json"),
        default="text",
        help="output format (default: text)",
    )
    cluster.add_arguments(parser)
    parser.epilog = (
        "Creates nothing. Exit codes: 0 the job would start now, as far as your permissions allow"
        " to check; 1 it would not; 2 the file has faults."
    )


def run(arguments: argparse.Namespace) -> int:
    try:
        read = documents.read(arguments.file)
    except documents.DocumentError as error:
        return _fail([str(error)])
    checked = check_all(read)
    faults = fault_report(checked)
    if faults or not checked:
        return _fail(faults or [f"{documents.shown_name(arguments.file)}: contains no job"])

    async def work(connected: Cluster) -> int:
        results = []
        for each in checked:
            subject = _subject(each, connected.one_namespace)
            results.append((subject, [one async for one in findings(connected, subject)]))
        if arguments.output == "json":
            sys.stdout.write(_as_json(results) + "\n")
        else:
            for subject, found in results:
                sys.stdout.write("\n".join(_lines(subject, found)) + "\n")
        failing = any(one.verdict is Verdict.FAILS for _, found in results for one in found)
        return WOULD_NOT if failing else WOULD_START

    return cluster.run(arguments, work)


def _subject(checked: CheckedDocument, namespace: str) -> Subject:
    assert checked.dialect is not None  # noqa: S101 - a document without faults has one
    manifest = submission.placed(checked.document.value, namespace)
    metadata = manifest["metadata"]
    place = str(metadata["namespace"])
    job = checked.dialect.decode(as_new(manifest), Settings())
    made = list(planned(job)) if isinstance(job, Job) else []
    pods = [_as_pod(each) for each in made if each["kind"] in {"Pod", "Job"}]
    name = metadata.get("name") or metadata.get("generateName")
    return Subject(
        title=f"{checked.dialect.kind} {place}/{name}",
        namespace=place,
        resource=jobs.resource_of(checked.dialect),
        manifest=manifest,
        pods=pods,
        services=sum(each["kind"] == "Service" for each in made),
    )


def _as_pod(manifest: dict[str, Any]) -> dict[str, Any]:
    """The pod without its owner, which does not exist yet."""
    metadata = {key: each for key, each in manifest["metadata"].items() if key != "ownerReferences"}
    if manifest["kind"] == "Pod":
        return {**manifest, "metadata": metadata}
    spec = manifest["spec"]["template"]["spec"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _lines(subject: Subject, found: Sequence[Finding]) -> list[str]:
    lines = [f"{plain_line(subject.title)}: {_summary(found)}"]
    for each in found:
        lines.append(f"  {_TITLES[each.verdict]:<9}{each.check:<9}{plain_line(each.message)}")
        if each.remedy:
            lines.append(f"{'':<20}remedy: {plain_line(each.remedy)}")
    return lines


def _summary(found: Sequence[Finding]) -> str:
    if any(each.verdict is Verdict.FAILS for each in found):
        return "would not start now"
    if any(each.verdict is Verdict.UNKNOWN for each in found):
        return "would start now, as far as it can be checked"
    return "would start now"


def _as_json(results: Sequence[tuple[Subject, Sequence[Finding]]]) -> str:
    shown = [
        {
            "job": subject.title,
            "startsNow": not any(each.verdict is Verdict.FAILS for each in found),
            "findings": found,
        }
        for subject, found in results
    ]
    return msgspec.json.format(msgspec.json.encode(shown)).decode()


def _fail(lines: Sequence[str]) -> int:
    for line in lines:
        sys.stderr.write(f"{plain(line)}\n")
    return BAD_INPUT
