"""Generates reference pages from the code: the operator's flags, its metrics, and causes."""

import argparse
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

from prometheus_client.metrics_core import Metric

from tfjob.core.diagnosis.causes import CATALOGUE, Cause, CauseGroup
from tfjob.manager import settings
from tfjob.manager.metrics import Metrics

_MADE = "<!-- Made from the code by `make generate`; not edited by hand. -->\n"
_FROM_THE_PROCESS = ("process_", "python_")
"""Process metrics that the library adds; they depend on the platform."""
_UNITS = ((3600, "h"), (60, "m"), (1, "s"))


def flags(_root: Path) -> str:
    """The flags of `tfjob operator`."""
    parser = argparse.ArgumentParser(add_help=False)
    settings.add_arguments(parser)
    actions = parser._actions  # noqa: SLF001 - argparse has no public list of its arguments
    shown = [_flag(each) for each in actions if each.help != argparse.SUPPRESS]
    ignored = [
        ", ".join(f"`{spelling}`" for spelling in each.option_strings)
        for each in actions
        if each.help == argparse.SUPPRESS
    ]
    return (
        f"{_MADE}# Flags of `tfjob operator`\n\n"
        "Write a flag with one dash or two, as `--flag value` or `--flag=value`. Unknown flags\n"
        "are rejected.\n\n"
        f"{_table(('flag', 'default', 'meaning'), shown)}\n"
        "These flags of training-operator and tf-job-operator are accepted, so that their\n"
        "Deployments work unchanged. They have no effect, and the log says so once:\n\n"
        f"{_bullets(ignored)}"
    )


def metrics(_root: Path) -> str:
    """The page of all metrics."""
    found = sorted(Metrics().registry.collect(), key=lambda each: each.name)
    own = [each for each in found if not each.name.startswith(_FROM_THE_PROCESS)]
    return (
        f"{_MADE}# Metrics of the operator\n\n"
        "Served at `/metrics`, port 8080, together with the metrics of the process (`process_…`,\n"
        "`python_…`). A metric with the label `job_namespace` keeps a series for each namespace\n"
        "in which it has counted anything since the operator started.\n\n"
        f"{_table(('metric', 'kind', 'meaning'), [_metric(each) for each in own])}"
    )


def causes(_root: Path) -> str:
    """The page of all causes of a diagnosis."""
    groups = "".join(_group(each) for each in CauseGroup)
    return (
        f"{_MADE}# Causes\n\n"
        "The codes of `status.diagnosis.cause`, by the stage at which they strike. The guide\n"
        "[explains](../guide/why-does-my-job-not-run.md) how they are found.\n"
        f"{groups}"
    )


def _group(group: CauseGroup) -> str:
    rows = [_cause(cause) for cause, info in CATALOGUE.items() if info.group is group]
    head = ("code", "the replica or the job", "what to do")
    return f"\n## {group.capitalize()}\n\n{_table(head, rows)}"


def _cause(cause: Cause) -> tuple[str, str, str]:
    info = CATALOGUE[cause]
    return f"`{cause}`", info.text, info.remedy


def _flag(action: argparse.Action) -> tuple[str, str, str]:
    value = "true" if action.nargs == "?" else action.metavar or ""
    shown = "|".join(map(str, action.choices)) if action.choices else value
    names = ", ".join(f"`{name}={shown}`" for name in action.option_strings)
    return names.replace("|", "\\|"), _default(action.default), str(action.help)


def _default(value: object) -> str:
    if isinstance(value, timedelta):
        return f"`{_duration(value)}`"
    if value is None or value in ([], ""):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _duration(value: timedelta) -> str:
    seconds = int(value.total_seconds())
    size, unit = next((each for each in _UNITS if seconds and seconds % each[0] == 0), (1, ""))
    return f"{seconds // size}{unit}"


def _metric(metric: Metric) -> tuple[str, str, str]:
    name = f"{metric.name}_total" if metric.type == "counter" else metric.name
    return f"`{name}`", metric.type, metric.documentation


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _bullets(entries: Iterable[str]) -> str:
    return "".join(f"- {each}\n" for each in entries)
