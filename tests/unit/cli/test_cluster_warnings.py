import logging

import pytest

from tfjob.cli.cluster import printed_warnings

LOGGER = logging.getLogger("tfjob.client.watch")


def test_a_warning_of_several_watches_is_one_line_with_its_fault(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with printed_warnings():
        for resource in ("tfjobs", "events"):
            fault = f"GET {resource}: no connection\x1b[31m"
            LOGGER.warning("watch interrupted", extra={"fault": fault})
        LOGGER.warning("invalid object skipped")
        LOGGER.info("unimportant")
    assert capsys.readouterr().err == (
        "warning: watch interrupted, trying again: GET tfjobs: no connection␛[31m\n"
        "warning: invalid object skipped\n"
    )
    assert LOGGER.parent is not None
    assert not LOGGER.parent.handlers


def test_an_outage_that_lasts_is_printed_every_minute(capsys: pytest.CaptureFixture[str]) -> None:
    with printed_warnings():
        for moment in (0.0, 30.0, 61.0):
            record = LOGGER.makeRecord(LOGGER.name, logging.WARNING, "", 0, "gone", (), None)
            record.created = moment
            LOGGER.handle(record)
    assert capsys.readouterr().err == "warning: gone\n" * 2
