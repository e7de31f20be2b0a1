"""Requests for the GPUs of old clusters are found and translated."""

import copy
from typing import Any

import pytest

from tfjob.dialects import legacy_gpu

Json = dict[str, Any]


def template(*resources: Json, key: str = "containers") -> Json:
    return {"spec": {key: [{"name": f"c{n}", "resources": r} for n, r in enumerate(resources)]}}


@pytest.mark.parametrize("key", ["containers", "initContainers"])
@pytest.mark.parametrize("amounts", ["limits", "requests"])
def test_request_is_found_and_translated_wherever_it_is(key: str, amounts: str) -> None:
    given = template({}, {amounts: {legacy_gpu.LEGACY: 2, "cpu": 1}}, key=key)
    before = copy.deepcopy(given)
    path = f"template.spec.{key}[1].resources.{amounts}"
    assert list(legacy_gpu.requests_in(given)) == [path]
    found = legacy_gpu.translated(given)
    assert found["spec"][key][1]["resources"] == {amounts: {"nvidia.com/gpu": 2, "cpu": 1}}
    assert list(legacy_gpu.requests_in(found)) == []
    assert given == before


def test_amount_under_the_name_of_today_takes_precedence() -> None:
    given = template({"limits": {legacy_gpu.LEGACY: 2, "nvidia.com/gpu": 1}})
    (container,) = legacy_gpu.translated(given)["spec"]["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 1}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"spec": None},
        {"spec": {"containers": "a"}},
        template({"limits": {"nvidia.com/gpu": 1}}),
    ],
    ids=["empty", "null", "broken", "today"],
)
def test_template_without_such_a_request_stays_the_same_object(given: Json) -> None:
    assert legacy_gpu.translated(given) is given


def test_warning_names_the_place_the_outcome_and_what_to_write() -> None:
    assert legacy_gpu.warning("here", outcome="the pods stay Pending") == (
        "here asks for alpha.kubernetes.io/nvidia-gpu, which Kubernetes has not offered since 1.11:"
        " the pods stay Pending; write nvidia.com/gpu"
    )
