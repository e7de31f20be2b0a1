"""Table rows of built-in kinds other than pods."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tfjob.local.apiserver.printers import BUILT_IN

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, 12, 10, tzinfo=UTC)
EARLIER, LATER = "2026-01-01T12:00:00Z", "2026-01-01T12:09:00Z"


def cells(kind: str, **fields: Any) -> dict[str, Any]:
    """The row of an object, by column."""
    columns, row_of = BUILT_IN[kind]
    names = [each.strip().split(":")[0].rstrip("+") for each in columns.split(" | ")]
    row = row_of({"metadata": {"name": "x"}, **fields}, NOW)
    return dict(zip(names, row, strict=True))


@pytest.mark.parametrize(
    ("spec", "status", "address"),
    [
        ({"type": "ClusterIP"}, {}, "<none>"),
        ({"type": "ClusterIP", "externalIPs": ["1.1.1.1", "1.1.1.2"]}, {}, "1.1.1.1,1.1.1.2"),
        ({"type": "LoadBalancer"}, {}, "<pending>"),
        (
            {"type": "LoadBalancer"},
            {"loadBalancer": {"ingress": [{"hostname": "b"}, {"ip": "1.1.1.3"}]}},
            "1.1.1.3,b",
        ),
        ({"type": "ExternalName", "externalName": "example.org"}, {}, "example.org"),
    ],
)
def test_external_address_of_a_service_depends_on_its_type(
    spec: Json, status: Json, address: str
) -> None:
    assert cells("Service", spec=spec, status=status)["External-IP"] == address


@pytest.mark.parametrize(
    ("spec", "completions"),
    [
        ({"completions": 3, "parallelism": 2}, "1/3"),
        ({"parallelism": 2}, "1/1 of 2"),
        ({"parallelism": 1}, "1/1"),
    ],
)
def test_completions_of_a_job_are_shown(spec: Json, completions: str) -> None:
    assert cells("Job", spec=spec, status={"succeeded": 1})["Completions"] == completions


@pytest.mark.parametrize(
    ("condition", "state"),
    [("Complete", "Complete"), ("Failed", "Failed"), ("Suspended", "Terminating")],
)
def test_a_deleted_job_is_shown_as_terminating_unless_it_has_finished(
    condition: str, state: str
) -> None:
    conditions = [{"type": condition, "status": "True"}]
    metadata = {"name": "x", "deletionTimestamp": LATER}
    assert cells("Job", metadata=metadata, status={"conditions": conditions})["Status"] == state


@pytest.mark.parametrize(
    ("ready", "state"), [("True", "Ready"), ("False", "NotReady"), ("Unknown", "NotReady")]
)
def test_a_node_is_shown_as_ready_or_not_ready(ready: str, state: str) -> None:
    conditions = [{"type": "Ready", "status": ready}]
    assert cells("Node", status={"conditions": conditions})["Status"] == state
    assert cells("Node", status={})["Status"] == "Unknown"


def test_an_event_of_a_series_has_its_count_and_its_last_time() -> None:
    row = cells(
        "Event",
        involvedObject={"kind": "Pod", "name": "p"},
        eventTime=EARLIER,
        series={"count": 4, "lastObservedTime": LATER},
    )
    assert (row["Object"], row["Count"], row["Last Seen"], row["First Seen"]) == (
        "pod/p",
        4,
        "60s",
        "10m",
    )


def test_an_event_about_an_object_without_a_name_shows_its_kind() -> None:
    assert cells("Event", involvedObject={"kind": "Node"})["Object"] == "node"
