"""Words that no file may contain are found, in text and in names, and innocent ones are left."""

import subprocess
from pathlib import Path

import pytest

from tools import words

# Each is put together here, so that this file does not contain it.
FORBIDDEN = [
    "see /wo" + "rk/main",
    "in /ro" + "ot/.cache",
    "start /tmp/la" + "b/bin/etcd",
    "from https://py" + "pi.org/simple",
    "GOPROXY=https://proxy.go" + "lang.org",
    "https://files.python" + "hosted.org/x.whl",
    "as the sub" + "agent found",
    "written by Cla" + "ude",
    "what the bri" + "ef asks for",
    "a helper se" + "ssion wrote this",
    "fixes iss" + "ue #12",
    "see shared/con" + "tract",
    "as kube" + "flow.md says",
    "rule 3 of de" + "sign.md",
]
INNOCENT = [
    "one aiohttp session per server",
    "the User-Agent header",
    "a brief pause",
    "https://example.org/networking/framework/",
    "a volume at /home/work/data",
    "docs/designs/0001-one-decision.md",
    "mountPath: /tmp/tensorflow",
    "the leader holds the lease",
    "issue a certificate",
]


@pytest.mark.parametrize("text", FORBIDDEN)
def test_a_forbidden_word_is_found_with_its_line(text: str) -> None:
    (fault,) = words.faults_in_text("docs/a.md", f"first\n{text}\n")
    assert fault.place == "docs/a.md:2"


@pytest.mark.parametrize("text", INNOCENT)
def test_an_innocent_word_is_left_alone(text: str) -> None:
    assert list(words.faults_in_text("docs/a.md", text)) == []


@pytest.mark.parametrize(
    "name", ["src/tfjob/utils.py", "src/tfjob/common/a.py", "tests/Helpers.py", "lib/constants.tar"]
)
def test_file_name_without_a_concept_is_rejected(name: str) -> None:
    (fault,) = words.faults_in_name(name)
    assert fault.remedy == "name it after the concept it holds"


def test_a_name_that_only_contains_such_a_word_is_left_alone() -> None:
    assert list(words.faults_in_name("src/tfjob/core/uncommon.py")) == []


def checkout(folder: Path, files: dict[str, str]) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_a_file_that_is_not_yet_committed_is_read_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words.main(checkout(tmp_path, {"a.md": FORBIDDEN[0]})) == 1
    assert "a.md:1" in capsys.readouterr().out


def test_what_git_ignores_is_not_read(tmp_path: Path) -> None:
    files = {".gitignore": "a.md\n", "a.md": FORBIDDEN[0], "b.md": INNOCENT[0]}
    assert words.main(checkout(tmp_path, files)) == 0


def test_binary_file_raises_no_error(tmp_path: Path) -> None:
    folder = checkout(tmp_path, {})
    (folder / "a.bin").write_bytes(b"\xff\x00\xfe")
    assert words.main(folder) == 0
