"""Writes the log of a local cluster to a file in its data folder instead of the terminal.

A record that cannot be written, for instance on a full disk, is dropped, and the job continues.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tfjob.local import data_folder
from tfjob.manager import logs

FILE: Final = "tfjob.log"


class _FileHandler(logging.FileHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging calls it
        """Drop the record."""


@contextmanager
def logging_to(folder: Path) -> Iterator[Path]:
    """Within the context, all records of level INFO and above go to the file only."""
    data_folder.make_folder(folder)
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    os.close(data_folder.open_file(folder / FILE, os.O_WRONLY | os.O_CREAT))
    handler = _FileHandler(folder / FILE, encoding="utf-8")
    logs.set_up(style="console", level="info")
    handler.setFormatter(root.handlers[0].formatter)
    root.handlers[:] = [handler]
    try:
        yield folder / FILE
    finally:
        root.handlers[:] = before
        root.setLevel(level)
        with suppress(OSError):  # what is left in the buffer cannot be written either
            handler.close()
