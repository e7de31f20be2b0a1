"""All commands: each is found, has a help text, and only the requested one is imported."""

import errno
import io
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.patience import PATIENCE
from tests.support.tfjobs import tfjob
from tests.unit.cli.conftest import Command
from tfjob import __version__
from tfjob.cli.commands import COMMANDS
from tfjob.cli.main import main

HEAVY = ("aiohttp", "asyncio", "rich", "prometheus_client", "uvloop", "tfjob.client", "tfjob.local")


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_command_has_a_help_text(verb: str, command: Command) -> None:
    done = command(verb, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: tfjob {verb}")
    text = " ".join(done.out.split())
    assert f"{COMMANDS[verb][0].upper()}{COMMANDS[verb][1:]}." in text


def test_help_lists_every_command(command: Command) -> None:
    done = command("--help")
    assert done.code == 0
    listed = [line.split()[0] for line in done.out.splitlines() if line.strip()]
    assert set(COMMANDS) <= set(listed)


def test_version_is_that_of_the_package(command: Command) -> None:
    assert command("--version") == (0, f"tfjob {__version__}\n", "")


@pytest.mark.parametrize("words", [[], ["nonsense"], ["validate", "--nonsense", "f"], ["plan"]])
def test_wrong_arguments_are_reported_on_stderr_with_code_2(
    words: list[str], command: Command
) -> None:
    done = command(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("usage: tfjob")


@pytest.mark.parametrize("verb", ["validate", "plan"])
def test_offline_commands_load_no_network_code(verb: str, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(tfjob("C1 W1")))
    program = (
        "import sys; from tfjob.cli.main import main; code = main(sys.argv[1:]);"
        f" print(code, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    words = [sys.executable, "-c", program, verb, str(file)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout.splitlines()[-1] == "0 []"


def test_a_closed_pipe_is_not_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Closed(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(tfjob()))
    monkeypatch.setattr(sys, "stdout", Closed())
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert main(["plan", str(file)]) == 0


class Full(io.StringIO):
    """Accepts writes and fails when it is flushed, as with a full disk."""

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_output_that_cannot_be_written_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(tfjob()))
    complaints = io.StringIO()
    monkeypatch.setattr(sys, "stdout", Full())
    monkeypatch.setattr(sys, "stderr", complaints)
    assert main(["validate", str(file)]) == 1
    assert complaints.getvalue() == (
        "tfjob: cannot write the output: No space left on device; it is incomplete\n"
    )


@pytest.mark.parametrize("verb", ["validate", "plan"])
def test_a_closed_output_does_not_change_the_exit_code(
    verb: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(tfjob()))
    monkeypatch.setattr(sys, "stdout", None)
    assert main([verb, str(file)]) == 0


def test_an_interrupt_has_its_own_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(io.BytesIO):
        def read(self, _: int | None = -1) -> bytes:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Interrupted()))
    assert main(["validate", "-"]) == 130


def test_characters_that_the_terminal_lacks_are_escaped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump({**tfjob(), "metadata": {"name": "Übung"}}), "utf-8")
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["validate", str(file)]) == 1
    sys.stdout.flush()
    assert b"TFJob \\xdcbung: 1 fault" in raw.getvalue()


@pytest.mark.parametrize(("word", "meant"), [("rnu", "run"), ("Validate", "validate")])
def test_a_misspelt_command_gets_a_suggestion(word: str, meant: str, command: Command) -> None:
    done = command(word, "file")
    assert done.code == 2
    assert f"unknown command '{word}'; did you mean `tfjob {meant}`?" in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["logs", "j", "--flolow"], "--flolow; did you mean --follow?"),
        (["run", "--timeot=10m", "f"], "--timeot=10m; did you mean --timeout?"),
        (["local", "up", "--prot", "80"], "--prot 80; did you mean --port?"),
        (["validate", "f", "--zzz"], "--zzz; `tfjob validate --help` lists its arguments"),
        (["describe", "j", "k"], "k; `tfjob describe --help` lists its arguments"),
    ],
)
def test_an_unknown_option_gets_a_suggestion(words: list[str], told: str, command: Command) -> None:
    done = command(*words)
    assert done.code == 2
    assert done.err.splitlines()[-1] == f"tfjob: error: unrecognized arguments: {told}"


def test_messages_of_the_kubectl_plugin_name_it_as_the_user_called_it(
    monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/kubectl-tfjob"])
    assert command("--help").out.startswith("usage: kubectl tfjob ")
    assert "did you mean `kubectl tfjob get`?" in command("gett").err
