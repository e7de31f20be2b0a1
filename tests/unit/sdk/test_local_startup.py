import logging
from pathlib import Path

import pytest

from tfjob.sdk.local_startup import LOG_FILE, logging_to


def test_records_go_to_the_file_and_nowhere_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = logging.getLogger().handlers[:]
    with logging_to(tmp_path / "data") as path:
        logging.getLogger("part").warning("something happened", extra={"pod": "p"})
        logging.getLogger("part").debug("too much")
    assert path == tmp_path / "data" / LOG_FILE
    assert path.read_text().endswith("WARNING something happened pod=p\n")
    assert len(path.read_text().splitlines()) == 1
    assert capsys.readouterr() == ("", "")
    assert logging.getLogger().handlers == before


def test_records_that_cannot_be_written_are_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handler: logging.Handler) -> None:
        raise OSError(28, "No space left on device")

    with logging_to(tmp_path):
        monkeypatch.setattr(logging.StreamHandler, "flush", full)
        logging.getLogger("part").warning("lost")
    monkeypatch.undo()
    assert capsys.readouterr() == ("", "")
