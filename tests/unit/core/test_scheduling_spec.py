"""The scheduler name, labels and annotations of pods in a gang."""

from typing import Any

import pytest

from tfjob.core.scheduling_spec import GangSpec


def a_gang(**fields: Any) -> GangSpec:
    return GangSpec(
        api_version="g/v1", group_name="j", scheduler_name="gang", min_member=1, **fields
    )


def marked(
    gang: GangSpec, scheduler: str | None = None
) -> tuple[Any, dict[str, str], dict[str, str]]:
    spec: dict[str, Any] = {"schedulerName": scheduler}
    labels, annotations = {"l": "1"}, {"a": "1"}
    gang.mark(spec, labels=labels, annotations=annotations, role="ps")
    return spec["schedulerName"], labels, annotations


def test_labels_and_annotations_are_added_to_those_that_are_there() -> None:
    gang = a_gang(pod_labels={"x": "2"}, pod_annotations={"y": "3"})
    assert marked(gang) == ("gang", {"l": "1", "x": "2"}, {"a": "1", "y": "3"})


@pytest.mark.parametrize(
    ("is_label", "labels", "annotations"),
    [(True, {"l": "1", "role": "ps"}, {"a": "1"}), (False, {"l": "1"}, {"a": "1", "role": "ps"})],
)
def test_the_role_is_a_label_or_an_annotation(
    is_label: bool, labels: dict[str, str], annotations: dict[str, str]
) -> None:
    gang = a_gang(role_key="role", is_role_a_label=is_label)
    assert marked(gang) == ("gang", labels, annotations)


@pytest.mark.parametrize(("own", "expected"), [(None, "gang"), ("", "gang"), ("mine", "mine")])
def test_a_scheduler_of_the_templates_own_is_kept(own: str | None, expected: str) -> None:
    assert marked(a_gang(), own)[0] == expected


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ({}, False),
        ({"spec": None}, False),
        ({"spec": {"schedulerName": ""}}, False),
        ({"spec": {"schedulerName": "gang"}}, False),
        ({"spec": {"schedulerName": "mine"}}, True),
    ],
)
def test_another_scheduler_rejects_the_gang(template: dict[str, Any], expected: bool) -> None:
    assert a_gang().uses_other_scheduler(template) is expected
