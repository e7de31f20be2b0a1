import subprocess

import pytest

from tfjob.cli.commands import COMMANDS
from tfjob.cli.main import main


def script_for(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def completed(script: str, *words: str) -> list[str]:
    """What bash offers for the last of the words, with `tfjob get` replaced."""
    line = " ".join(f"'{word}'" for word in words)
    program = f"""
tfjob() {{ echo tfjobs.kubeflow.org/mnist; echo tfjobs.kubeflow.org/other; }}
{script}
COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}
_tfjob
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    result = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert result.stderr == ""
    return result.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tfjob", "sus"], ["suspend"]),
        (["tfjob", "local", "u"], ["up"]),
        (["tfjob", "run", "--time"], ["--timeout"]),
        (["tfjob", "describe", "m"], ["mnist"]),
        (["tfjob", "describe", ""], ["mnist", "other"]),
        (["tfjob", "describe", "--wh"], ["--why"]),
        (["tfjob", "nonsense", ""], []),
    ],
)
def test_bash_completes_commands_options_and_jobs(
    words: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert completed(script_for("bash", capsys), *words) == expected


def test_every_command_is_offered_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert completed(script_for("bash", capsys), "tfjob", "") == list(COMMANDS)


def test_zsh_uses_the_completion_of_bash(capsys: pytest.CaptureFixture[str]) -> None:
    bash, zsh = script_for("bash", capsys), script_for("zsh", capsys)
    assert zsh.endswith(bash)
    assert "bashcompinit" in zsh


def test_fish_describes_commands_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    lines = script_for("fish", capsys).splitlines()
    assert "complete -c tfjob -n __fish_use_subcommand -f -a delete -d 'delete jobs'" in lines
    after = "complete -c tfjob -n '__fish_seen_subcommand_from events'"
    assert f"{after} -s w -l watch -d 'print new events as they occur, until Ctrl-C'" in lines
    after = "complete -c tfjob -n '__fish_seen_subcommand_from describe'"
    names = 'tfjob get -o name 2>/dev/null | sed "s:.*/::"'  # fish fails on an unquoted wildcard
    assert f"{after} -f -a '({names})'" in lines
    assert all(line.count("'") % 2 == 0 or "\\'" in line for line in lines)
