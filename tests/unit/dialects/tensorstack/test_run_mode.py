"""Run modes: the commands of containers, and what of a template they keep."""

import copy

import pytest

from tests.unit.dialects.tensorstack.jobs import Json, container
from tfjob.dialects.field_reader import Reader
from tfjob.dialects.schema_check import valid_part
from tfjob.dialects.tensorstack import schema
from tfjob.dialects.tensorstack.run_mode import Modes, Start, read_modes, started

MODES = schema.run_mode()
TEMPLATE: Json = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {
        "initContainers": [{"name": "i"}],
        "containers": [container("side"), container(command=["c"], args=["d"], env=[])],
    },
}


def read(value: object) -> Modes:
    reader = Reader()
    found = valid_part(reader, value, MODES, "spec.runMode")
    assert reader.faults == []
    return read_modes(found)


def main_of(template: object) -> Json:
    assert isinstance(template, dict)
    found: Json = template["spec"]["containers"][1]
    return found


@pytest.mark.parametrize(
    ("given", "is_on"),
    [
        ({}, False),
        ({"enabled": True}, True),
        ({"enable": True}, True),
        ({"enabled": False, "enable": True}, False),
        ({"enabled": None, "enable": True}, True),
    ],
)
def test_newer_spelling_counts_before_the_older(given: Json, is_on: bool) -> None:
    modes = read({"debug": given, "pause": given})
    assert (modes.is_debugged, modes.is_paused) == (is_on, is_on)


def test_template_is_as_it_is_without_a_mode() -> None:
    modes = Modes(debug={"worker": Start(skips_init=True)}, resume={"worker": Start(command=["x"])})
    assert started(TEMPLATE, modes, kind="worker", was_paused=False) is TEMPLATE


@pytest.mark.parametrize(
    ("start", "command", "args"),
    [
        (Start(command=["x"]), ["x"], ["d"]),
        (Start(args=["y"]), ["c"], ["y"]),
        (Start(command=["x"], args=["y"]), ["x"], ["y"]),
        (Start(), ["c"], ["d"]),
    ],
)
def test_resumed_type_uses_what_its_resume_spec_sets(
    start: Start, command: list[str], args: list[str]
) -> None:
    modes = Modes(resume={"worker": start})
    main = main_of(started(TEMPLATE, modes, kind="worker", was_paused=True))
    assert (main["command"], main["args"]) == (command, args)


def test_init_containers_can_be_skipped_after_a_pause() -> None:
    modes = Modes(resume={"worker": Start(skips_init=True)})
    assert "initContainers" not in started(TEMPLATE, modes, kind="worker", was_paused=True)["spec"]
    assert started(TEMPLATE, modes, kind="ps", was_paused=True) is TEMPLATE


def test_given_template_is_never_changed() -> None:
    before = copy.deepcopy(TEMPLATE)
    start = {"worker": Start(skips_init=True, command=["x"])}
    modes = Modes(is_debugged=True, debug=start, resume=start)
    started(TEMPLATE, modes, kind="worker", was_paused=True)
    assert before == TEMPLATE


def test_all_types_are_debugged_and_those_without_an_entry_sleep() -> None:
    main = main_of(started(TEMPLATE, Modes(is_debugged=True), kind="ps", was_paused=False))
    assert main["command"] == ["sleep", "inf"]
    assert "args" not in main


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"debug": {"enabled": "yes"}}, "spec.runMode.debug.enabled"),
        ({"pause": {"enable": 1}}, "spec.runMode.pause.enable"),
        ({"pause": {"resumeSpecs": {}}}, "spec.runMode.pause.resumeSpecs"),
        (
            {"pause": {"resumeSpecs": [{"type": "worker", "args": "a"}]}},
            "spec.runMode.pause.resumeSpecs[0].args",
        ),
        (
            {"debug": {"replicaSpecs": [{"type": "worker", "skipInitContainer": "no"}]}},
            "spec.runMode.debug.replicaSpecs[0].skipInitContainer",
        ),
        ({"debug": {"replicaSpecs": [None]}}, "spec.runMode.debug.replicaSpecs[0]"),
    ],
)
def test_wrong_value_is_named_by_its_path(value: Json, path: str) -> None:
    reader = Reader()
    valid_part(reader, value, MODES, "spec.runMode")
    assert path in {fault.path for fault in reader.faults}
