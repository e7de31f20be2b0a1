"""`tfjob operator`: an error at start is one line, with its own exit code."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Command


@pytest.fixture(autouse=True)
def _outside_of_any_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBEFLOW_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_unknown_scheme_is_a_start_up_error(command: Command) -> None:
    done = command("operator", "--enable-scheme", "nosuch")
    assert done == (2, "", "tfjob operator: scheme nosuch is not supported yet\n")


def test_missing_kubeconfig_is_named(command: Command, tmp_path: Path) -> None:
    absent = str(tmp_path / "absent")
    done = command("operator", "--kubeconfig", absent)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("tfjob operator: ")
    assert absent in done.err
    assert "Traceback" not in done.err


def test_operator_that_can_reach_no_cluster_says_so(command: Command) -> None:
    done = command("operator")
    assert done.code == 2
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("words", [["-leader-elect=maybe"], ["--leader-elect=maybe"]])
def test_flags_may_have_one_dash_and_are_checked_alike(command: Command, words: list[str]) -> None:
    done = command("operator", *words)
    assert done.code == 2
    assert "'maybe' is neither true nor false" in done.err


def test_flag_that_nobody_knows_is_rejected(command: Command) -> None:
    done = command("operator", "--threadiness=4")
    assert done.code == 2
    assert "unrecognized arguments: --threadiness=4" in done.err


def test_version_is_printed(command: Command) -> None:
    done = command("operator", "--version")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("tfjob ")
