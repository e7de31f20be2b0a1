"""Broken links and unknown `make` targets in the documentation are found."""

import subprocess
from pathlib import Path

import pytest

from tools import prose


def checkout(folder: Path, text: str) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "Makefile").write_text("check: ## Check\n")
    (folder / "docs").mkdir()
    (folder / "docs" / "b.md").write_text("")
    (folder / "docs" / "a.md").write_text(text)
    return folder


@pytest.mark.parametrize(
    "text",
    [
        "[b](b.md), [part of b](b.md#part), [up](../Makefile)",
        "[elsewhere](https://example.org/c.md), [below](#part)",
        "Run `make check`.\n\n```\nmake check\n```\n",
        "They make things.",
    ],
)
def test_what_leads_somewhere_passes(tmp_path: Path, text: str) -> None:
    assert prose.main(checkout(tmp_path, text)) == 0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[c](c.md)", "docs/a.md: the link to c.md leads nowhere"),
        ("Run `make coffee`.", "docs/a.md: there is no `make coffee`"),
        ("```\nmake coffee\n```", "docs/a.md: there is no `make coffee`"),
    ],
)
def test_what_leads_nowhere_is_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, fault: str
) -> None:
    assert prose.main(checkout(tmp_path, text)) == 1
    assert fault in capsys.readouterr().out
