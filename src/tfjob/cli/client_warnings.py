"""Prints the warnings of the API client for people: one line each on stderr, with the fault.

A command may watch several APIs at once. When the cluster goes away all of them warn, so each
warning is printed once a minute.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tfjob.cli.printing import plain_line

_INTERVAL: Final = 60.0
_LOGGER: Final = "tfjob.client"


class _Printer(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._printed: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.created - self._printed.get(text, -_INTERVAL) < _INTERVAL:
            return
        self._printed[text] = record.created
        fault = getattr(record, "fault", "")
        text = f"{text}, trying again: {fault}" if fault else text
        sys.stderr.write(f"warning: {plain_line(text)}\n")


@contextmanager
def printed_warnings() -> Iterator[None]:
    logger, handler = logging.getLogger(_LOGGER), _Printer()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
