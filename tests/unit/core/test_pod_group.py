"""When the PodGroup is created or updated, and when pods may be created."""

from typing import Any

import msgspec
import pytest

from tfjob.core import pod_group
from tfjob.core.gang_members import Members
from tfjob.core.plan import Rule
from tfjob.core.pod_group import GangStep
from tfjob.core.scheduling_spec import GangSpec
from tfjob.k8s.child_types import PodGroup, PodGroupStatus
from tfjob.k8s.meta import ObjectMeta

GANG = GangSpec(api_version="g/v1", group_name="j", scheduler_name="s", min_member=2)
OWNER = {"uid": "U"}


class Type(msgspec.Struct, frozen=True):
    """One replica type as the walk over resources sees it."""

    count: int
    template: dict[str, Any]


def a_type(count: int, *asked: dict[str, Any] | None, priority: object = None) -> Type:
    containers = [{"name": "c", "resources": each} for each in asked]
    return Type(count, {"spec": {"containers": containers, "priorityClassName": priority}})


def a_group(
    spec: dict[str, Any] | None = None, *, phase: str = "", is_obsolete: bool = False
) -> PodGroup:
    deleted = "2026-01-02T03:04:05Z" if is_obsolete else None
    return PodGroup(
        metadata=ObjectMeta(name="group", uid="g", deletion_timestamp=deleted),
        spec=spec or {},
        status=PodGroupStatus(phase=phase),
    )


def step(
    existing: PodGroup | None = None,
    *members: Type,
    annotations: dict[str, str] | None = None,
    **fields: Any,
) -> GangStep:
    return pod_group.step(
        msgspec.structs.replace(GANG, **fields),
        existing,
        members=Members(types=members),
        priorities={"high": 10, "low": -10},
        owner=OWNER,
        annotations=annotations or {},
    )


def test_a_missing_group_is_created_with_all_it_should_say() -> None:
    found = step(fields={"queue": "q"}, annotations={"a": "b"})
    assert found.update is None
    assert found.create is not None
    assert (found.create.kind, found.create.name) == ("PodGroup", "j")
    assert found.create.body == {
        "apiVersion": "g/v1",
        "kind": "PodGroup",
        "metadata": {"name": "j", "ownerReferences": [OWNER], "annotations": {"a": "b"}},
        "spec": {"minMember": 2, "queue": "q"},
    }


@pytest.mark.parametrize("waits", [True, False])
def test_pods_wait_for_a_new_group_only_where_they_are_admitted(waits: bool) -> None:
    assert step(waits_for_admission=waits).may_create_pods is not waits


@pytest.mark.parametrize(
    ("phase", "waits", "may_come"),
    [
        ("", True, False),
        ("Pending", True, False),
        ("Inqueue", True, True),
        ("Running", True, True),
        ("", False, True),
        ("Pending", False, True),
    ],
)
def test_the_phase_of_the_group_lets_pods_come(phase: str, waits: bool, may_come: bool) -> None:
    found = step(a_group(phase=phase), waits_for_admission=waits)
    assert found.may_create_pods is may_come


def test_a_group_on_its_way_out_admits_nobody() -> None:
    leaving = a_group(phase="Running", is_obsolete=True)
    assert not step(leaving, waits_for_admission=True).may_create_pods
    assert step(leaving).may_create_pods


@pytest.mark.parametrize("waits", [True, False])
def test_pods_wait_for_a_group_that_is_created_each_time_until_it_stands(waits: bool) -> None:
    found = step(waits_for_group=waits)
    assert found.create is not None
    assert found.may_create_pods is not waits
    assert step(a_group(), waits_for_group=waits).may_create_pods
    assert step(a_group(is_obsolete=True), waits_for_group=waits).may_create_pods is not waits


def test_a_group_that_says_what_it_should_is_left_alone() -> None:
    found = step(a_group({"minMember": 2, "queue": "q", "of": "others"}), fields={"queue": "q"})
    assert (found.create, found.update) == (None, None)


def test_a_podgroup_that_differs_is_patched() -> None:
    update = step(a_group({"minMember": 5, "queue": "q"}), fields={"queue": "r"}).update
    assert update is not None
    assert (update.kind, update.name, update.uid) == ("PodGroup", "group", "g")
    assert update.body == {"spec": {"minMember": 2, "queue": "r"}}


def test_a_stored_queue_is_kept_where_the_scheduler_wants_that() -> None:
    stored = a_group({"minMember": 2, "queue": "old"})
    assert step(stored, fields={"queue": "q"}, keeps_stored_queue=True).update is None
    assert step(stored, fields={"queue": "q"}).update is not None
    empty = a_group({"minMember": 2, "queue": ""})
    update = step(empty, fields={"queue": "q"}, keeps_stored_queue=True).update
    assert update is not None
    assert update.body["spec"]["queue"] == "q"


CPU = {"requests": {"cpu": "500m"}}


def test_resources_are_computed_given_or_left_out() -> None:
    member = a_type(2, CPU)

    def said(**fields: Any) -> Any:
        create = step(None, member, **fields).create
        assert create is not None
        assert create.body is not None
        return create.body["spec"].get("minResources")

    assert said() == {"cpu": "1"}
    assert said(fields={"minResources": {"cpu": "9"}}) == {"cpu": "9"}
    assert said(computes_resources=False) is None


def test_a_resource_that_is_no_longer_asked_for_is_taken_out() -> None:
    stored = a_group({"minMember": 2, "minResources": {"cpu": "1", "gpu": "4"}})
    update = step(stored, a_type(2, CPU)).update
    assert update is not None
    assert update.body["spec"]["minResources"] == {"cpu": "1", "gpu": None}


def test_resources_are_taken_out_when_nothing_is_asked_for_any_more() -> None:
    stored = a_group({"minMember": 2, "minResources": {"cpu": "1"}})
    update = step(stored, a_type(2)).update
    assert update is not None
    assert update.body["spec"]["minResources"] is None
    assert step(stored, a_type(2), computes_resources=False).update is None
    assert step(a_group({"minMember": 2}), a_type(2)).update is None


@pytest.mark.parametrize(
    ("members", "count", "expected"),
    [
        pytest.param([a_type(2, CPU), a_type(3, {"requests": {"cpu": 2}})], 5, "7", id="all"),
        pytest.param([a_type(2, CPU), a_type(3, {"requests": {"cpu": 2}})], 3, "3", id="first"),
        pytest.param(
            [a_type(2, CPU), a_type(3, {"requests": {"cpu": 2}}, priority="high")],
            4,
            "6500m",
            id="the-most-important-first",
        ),
        pytest.param(
            [a_type(2, CPU, priority="low"), a_type(3, {"requests": {"cpu": 2}})],
            3,
            "6",
            id="the-least-important-last",
        ),
        pytest.param(
            [a_type(1, CPU, priority=7), a_type(1, {"requests": {"cpu": 2}}, priority="?")],
            1,
            "500m",
            id="unknown-priorities-are-zero-and-ties-keep-the-order",
        ),
        pytest.param(
            [a_type(1, CPU, priority="?"), a_type(1, {"requests": {"cpu": 2}}, priority=["x"])],
            1,
            "500m",
            id="what-is-no-name-of-a-priority-is-zero-too",
        ),
        pytest.param([a_type(1, None, CPU)], 1, "500m", id="a-container-that-asks-for-nothing"),
        pytest.param([a_type(2, CPU, CPU)], 2, "2", id="all-containers"),
        pytest.param([a_type(1, CPU)], 9, "500m", id="no-more-than-there-are"),
    ],
)
def test_the_resources_of_the_first_pods_are_added_up(
    members: list[Type], count: int, expected: str
) -> None:
    found = pod_group.min_resources(members, count=count, priorities={"high": 10, "low": -10})
    assert found == {"cpu": expected}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param({"limits": {"cpu": 2}}, {"cpu": "2"}, id="limits-without-requests"),
        pytest.param({"requests": {}, "limits": {"cpu": 2}}, {}, id="empty-requests-count"),
        pytest.param(None, {}, id="no-resources"),
        pytest.param({"requests": 3}, {}, id="requests-of-another-shape"),
        pytest.param({"requests": {"cpu": "x", "gpu": 1}}, {"gpu": "1"}, id="no-quantity"),
        pytest.param({"requests": {"cpu": 0}}, {}, id="nothing-asked-for"),
        pytest.param(
            {"requests": {"memory": "1Gi", "cpu": 1}}, {"cpu": "1", "memory": "1Gi"}, id="sorted"
        ),
    ],
)
def test_a_container_asks_for_its_requests_or_else_its_limits(
    asked: dict[str, Any] | None, expected: dict[str, str]
) -> None:
    found = pod_group.min_resources([a_type(1, asked)], count=1, priorities={})
    assert found == expected
    assert list(found) == list(expected)


@pytest.mark.parametrize("template", [{}, {"spec": None}, {"spec": {"containers": None}}])
def test_a_template_without_containers_asks_for_nothing(template: dict[str, Any]) -> None:
    assert pod_group.min_resources([Type(1, template)], count=1, priorities={}) == {}


def test_a_group_is_removed_once() -> None:
    (delete,) = pod_group.delete_group(a_group(), rule=Rule.JOB_FINISHED)
    assert (delete.kind, delete.name, delete.uid) == ("PodGroup", "group", "g")
    assert pod_group.delete_group(None, rule=Rule.JOB_FINISHED) == []
    assert pod_group.delete_group(a_group(is_obsolete=True), rule=Rule.JOB_FINISHED) == []
