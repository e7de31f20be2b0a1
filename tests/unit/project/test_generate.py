"""A stale generated file is found, and writing makes it current."""

from pathlib import Path

import pytest

from tools import generate

FILES = (generate.Generated("docs/a.md", lambda root: f"made of {(root / 'source').read_text()}"),)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "source").write_text("one\n")
    generate.main([], root=tmp_path, files=FILES)
    return tmp_path


def test_a_file_just_written_is_current(root: Path) -> None:
    assert (root / "docs/a.md").read_text() == "made of one\n"
    assert generate.main(["--check"], root=root, files=FILES) == 0


def test_a_file_is_stale_when_its_source_has_changed(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "source").write_text("two\n")
    assert generate.main(["--check"], root=root, files=FILES) == 1
    assert "-made of one\n+made of two\nrun `make generate`" in capsys.readouterr().out


def test_a_file_is_stale_when_it_was_edited_by_hand(root: Path) -> None:
    (root / "docs/a.md").write_text("made of air\n")
    assert generate.main(["--check"], root=root, files=FILES) == 1


def test_a_file_is_stale_when_it_is_missing(root: Path) -> None:
    (root / "docs/a.md").unlink()
    assert generate.main(["--check"], root=root, files=FILES) == 1


def test_checking_writes_nothing(root: Path) -> None:
    (root / "source").write_text("two\n")
    generate.main(["--check"], root=root, files=FILES)
    assert (root / "docs/a.md").read_text() == "made of one\n"


def test_the_map_of_scenarios_is_among_the_generated_files() -> None:
    assert "docs/scenarios.md" in [each.path for each in generate.GENERATED]
