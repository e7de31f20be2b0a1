"""The pages of the reference list what the code offers, with its defaults."""

import argparse
from pathlib import Path

from tfjob.manager import settings
from tools import reference


def test_each_flag_of_the_operator_is_listed() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    settings.add_arguments(parser)
    page = reference.flags(Path())
    missing = [each for each in parser._option_string_actions if f"`{each}" not in page]
    assert not missing


def test_default_of_a_flag_is_written_as_the_flag_takes_it() -> None:
    page = reference.flags(Path())
    assert "| `--resync-period=TIME` | `10m` |" in page
    assert "| `--force-delete-stuck-after=TIME` | `0` |" in page
    assert "| `--leader-elect=true` | `false` |" in page


def test_metrics_are_listed_under_the_names_they_are_served_by() -> None:
    page = reference.metrics(Path())
    assert "| `training_operator_jobs_created_total` | counter |" in page
    assert "| `tf_operator_is_leader` | gauge |" in page
    assert "process_cpu" not in page
