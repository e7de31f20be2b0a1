"""The linter, the type checker and the search for dead code find what they are there for."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent


def codes_of(source: str, *, path: str) -> set[str]:
    """The codes that ruff reports for a source as if it stood at a path of the project."""
    command = [str(BIN / "ruff"), "check", "--output-format=concise", "--stdin-filename", path, "-"]
    done = subprocess.run(
        command, cwd=ROOT, input=source, capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith(path)]
    return {line.split(": ", 1)[1].split()[0] for line in lines}


CLOCK = '"""A module."""\n\nfrom datetime import UTC, datetime\n\nNOW = datetime.now(UTC)\n'


@pytest.mark.parametrize("room", ["k8s", "core", "dialects", "dashboard"])
def test_a_clock_is_rejected_where_time_is_an_argument(room: str) -> None:
    assert codes_of(CLOCK, path=f"src/tfjob/{room}/a.py") == {"TID251"}


@pytest.mark.parametrize("room", ["client", "controller", "manager", "local", "cli"])
def test_a_clock_is_allowed_in_packages_with_io(room: str) -> None:
    assert codes_of(CLOCK, path=f"src/tfjob/{room}/a.py") == set()


@pytest.mark.parametrize("call", ["datetime.today()", "datetime.utcnow()"])
def test_other_ways_to_the_clock_are_rejected_too(call: str) -> None:
    source = f'"""A module."""\n\nfrom datetime import datetime\n\nNOW = {call}\n'
    assert "TID251" in codes_of(source, path="src/tfjob/core/a.py")


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ('"""A module."""\n\n\ndef f(a):\n    return a\n', "ANN001"),
        ("A = 1\n", "D100"),
        ('"""A module."""\n\nfrom . import b\n', "TID252"),
        ('"""A module."""\n\nprint("hello")\n', "T201"),
        ('"""A module."""\n\n# a = f(1)\n', "ERA001"),
        ('"""A module."""\n\ntry:\n    A = 1\nexcept Exception:\n    A = 2\n', "BLE001"),
    ],
)
def test_the_linter_rejects(source: str, code: str) -> None:
    assert code in codes_of(source, path="src/tfjob/core/a.py")


def test_the_type_checker_rejects_an_unannotated_function(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(a):\n    return a\n")
    command = [str(BIN / "mypy"), "--cache-dir", str(tmp_path / "cache"), str(tmp_path / "a.py")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "[no-untyped-def]" in done.stdout


def dead_code_in(folder: Path, source: str) -> str:
    (folder / "a.py").write_text(source)
    command = [str(BIN / "vulture"), "--config", str(ROOT / "pyproject.toml"), str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == (3 if done.stdout else 0), done.stderr
    return done.stdout


def test_a_function_that_nothing_uses_is_dead(tmp_path: Path) -> None:
    report = dead_code_in(tmp_path, "def used(): ...\ndef unused(): ...\nused()\n")
    assert "unused function 'unused'" in report
    assert "'used'" not in report


def test_what_pytest_finds_by_itself_is_alive(tmp_path: Path) -> None:
    fixture = '@pytest.fixture(scope="session")\ndef server(): ...\n'
    hook = "def pytest_configure(): ...\n"
    assert dead_code_in(tmp_path, f"import pytest\n{fixture}{hook}") == ""


def test_what_hypothesis_calls_by_itself_is_alive(tmp_path: Path) -> None:
    steps = "@rule()\ndef step(): ...\n@invariant()\ndef law(): ...\n"
    source = f"from hypothesis.stateful import invariant, rule\n{steps}"
    assert dead_code_in(tmp_path, source) == ""


def test_no_source_waits_in_a_way_that_can_lose_a_cancellation() -> None:
    """On Python 3.11 `asyncio.wait_for` returns a result that comes together with a cancellation,
    and the task goes on for ever."""
    sources = sorted((ROOT / "src").rglob("*.py"))
    assert sources
    assert [str(each) for each in sources if "asyncio.wait_for(" in each.read_text("utf-8")] == []
