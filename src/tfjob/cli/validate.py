"""`tfjob validate FILE…`: list every fault of every job with its line and a remedy."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from tfjob.cli.placed_advice import advice_on
from tfjob.cli.printing import plain, plain_line
from tfjob.dialects.registry import DIALECTS
from tfjob.sdk import documents
from tfjob.sdk.job_documents import CheckedDocument, check_all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="YAML file; - reads stdin")
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json"),
        default="text",
        help="output format (default: text)",
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 if there are warnings")
    parser.epilog = (
        "Exit codes: 0 all jobs are valid, 1 there is a fault or, with --strict, a warning."
    )


def run(arguments: argparse.Namespace) -> int:
    found: list[CheckedDocument] = []
    problems: list[str] = []
    for file in arguments.files:
        jobs, problem = _check_file(file)
        found.extend(jobs)
        problems.extend(problem)
    if arguments.output == "json":
        sys.stdout.write(_as_json(found, problems))
    else:
        _print(found, problems)
    is_warned = arguments.strict and any(advice_on(each) for each in found)
    return 1 if is_warned or problems or any(each.faults for each in found) else 0


def _check_file(file: str) -> tuple[list[CheckedDocument], list[str]]:
    try:
        read = documents.read(file)
    except documents.DocumentError as error:
        return [], [str(error)]
    jobs = check_all(read)
    if not jobs:
        reason = _of_other_kinds(read) if read else "it is empty"
        return [], [f"{documents.shown_name(file)}: contains no job: {reason}"]
    return jobs, []


def _of_other_kinds(read: Sequence[documents.Document]) -> str:
    kinds = dict.fromkeys(str(each.value.get("kind")) for each in read)
    jobs = dict.fromkeys(each.kind for each in DIALECTS)
    return (
        f"{counted(len(read), 'document')} of other kinds ({', '.join(kinds)}); a job is of kind"
        f" {', '.join(jobs)}"
    )


def _print(found: Sequence[CheckedDocument], problems: Sequence[str]) -> None:
    for checked in found:
        document = checked.document
        place = plain_line(f"{document.file}: document {document.number}, {checked.title}")
        if not checked.faults:
            print(f"{place}: valid")
        else:
            print(f"{place}: {counted(len(checked.faults), 'fault')}")
        for line in checked.report():
            print(plain(line))
        for warning in advice_on(checked):
            print(plain(f"  {warning.place(document)}warning: {warning.text}"))
    for problem in problems:
        print(plain(problem))


def _as_json(found: Sequence[CheckedDocument], problems: Sequence[str]) -> str:
    shown: dict[str, Any] = {
        "jobs": [_job_as_json(each) for each in found],
        "problems": list(problems),
    }
    return msgspec.json.format(msgspec.json.encode(shown)).decode() + "\n"


def _job_as_json(checked: CheckedDocument) -> dict[str, Any]:
    document = checked.document
    return {
        "file": document.file,
        "document": document.number,
        "object": checked.title,
        "faults": [
            {
                "line": checked.line_of(fault),
                "path": fault.path,
                "text": fault.text,
                "remedy": fault.remedy,
            }
            for fault in checked.faults
        ],
        "warnings": [{"line": each.line, "text": each.text} for each in advice_on(checked)],
    }


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
