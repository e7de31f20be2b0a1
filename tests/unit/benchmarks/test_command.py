"""The command line of the benchmarks."""

from pathlib import Path

import pytest

from benchmarks.command import parse_options, scenario_names


def test_contestants_take_turns_and_the_programme_is_repeated(tmp_path: Path) -> None:
    options = parse_options(
        ["--only", "many", "--only", "raw", "--repeat", "2", "--results", str(tmp_path)]
    )
    runs = [(each.repetition, each.session.name, each.contestant) for each in options.runs]
    once = [("many", "go-tuned"), ("many", "tfjob"), ("raw", "raw")]
    assert runs == [(number, *each) for number in range(2) for each in once]
    assert set(options.titles) == {"many", "floor", "raw"}


def test_one_step_of_a_course_brings_the_course(tmp_path: Path) -> None:
    options = parse_options(["--only", "idle", "--without", "go-tuned", "--results", str(tmp_path)])
    assert {each.session.name for each in options.runs} == {"fleet"}
    assert len(options.runs) == 3


def test_scenario_that_is_asked_for_by_name_needs_no_flag_beside_it(tmp_path: Path) -> None:
    options = parse_options(["--only", "large", "--repeat", "1", "--results", str(tmp_path)])
    assert [each.session.name for each in options.runs] == ["large", "large"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "mnay"], "'mnay'"),
        (["--repeat", "-3"], "'-3'"),
        (["--repeat", "2x"], "'2x' is not a whole number of at least 0"),
        (["--fleet", "0"], "'0' is not a whole number of at least 1"),
        (["--repeat", "0"], "no record was given with --add"),
        (["--only", "raw", "--without", "raw"], "nothing to measure"),
        (["--quick", "--large"], "--quick has no large scenario"),
        (["--results", "/proc/nowhere"], "/proc/nowhere: the directory is not writable"),
    ],
)
def test_what_makes_no_sense_is_rejected_before_anything_is_measured(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_options(["--results", str(tmp_path), *arguments])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_what_was_measured_before_an_interruption_is_not_overwritten(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept = tmp_path / "partial.json"
    kept.write_text("{}")
    options = ["--only", "few", "--results", str(tmp_path)]
    with pytest.raises(SystemExit):
        parse_options(options)
    assert f"--add {kept}" in capsys.readouterr().err
    assert parse_options([*options, "--add", str(kept)]).add == [kept]


def test_help_names_every_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_options(["--help"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in scenario_names())
