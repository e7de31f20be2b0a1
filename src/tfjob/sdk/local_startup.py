"""Around a local cluster: its log in a file instead of the terminal, and its errors as messages.

A record that cannot be written, for instance on a full disk, is dropped, and the job continues.
"""

import logging
import os
import sqlite3
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tfjob.client.errors import ApiError
from tfjob.local import data_folder
from tfjob.local.apiserver.store import StoreError, StoreFullError
from tfjob.local.data_folder import DataFolderError
from tfjob.manager import logs

LOG_FILE: Final = "tfjob.log"
STARTUP_ERRORS: Final = (
    DataFolderError,
    StoreError,
    StoreFullError,
    sqlite3.Error,
    ApiError,
    OSError,
    UnicodeDecodeError,
)
"""Errors of the data folder, its files, the disk or a part of the cluster."""
_ELSEWHERE: Final = "choose another folder with --data, or move this one away"


class _FileHandler(logging.FileHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging calls it
        """Drop the record."""


@contextmanager
def logging_to(folder: Path) -> Iterator[Path]:
    """Within the context, all records of level INFO and above go to the file only."""
    data_folder.make_folder(folder)
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    os.close(data_folder.open_file(folder / LOG_FILE, os.O_WRONLY | os.O_CREAT))
    handler = _FileHandler(folder / LOG_FILE, encoding="utf-8")
    logs.set_up(style="console", level="info")
    handler.setFormatter(root.handlers[0].formatter)
    root.handlers[:] = [handler]
    try:
        yield folder / LOG_FILE
    finally:
        root.handlers[:] = before
        root.setLevel(level)
        with suppress(OSError):  # what is left in the buffer cannot be written either
            handler.close()


def startup_error_text(error: Exception, data: Path) -> str:
    """What stopped the cluster and what to do; the remedies never delete data."""
    if isinstance(error, DataFolderError):
        return str(error)
    if isinstance(error, StoreFullError):
        return f"{data}: {error}; free space on that disk, or choose another folder with --data"
    if isinstance(error, StoreError):
        text = str(error)
        return text if "another data folder" in text else f"{text}; {_ELSEWHERE}"
    if isinstance(error, sqlite3.Error | ssl.SSLError | UnicodeDecodeError):
        return f"{data}: cannot read or write its files: {error}; {_ELSEWHERE}"
    why = error.message if isinstance(error, ApiError) else str(error)
    return f"the local cluster stopped: {why} (its data is in {data})"
