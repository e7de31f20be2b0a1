"""Why a local cluster cannot start or go on, as one sentence: what, where, and what to do."""

import sqlite3
import ssl
from pathlib import Path
from typing import Final

from tfjob.client.errors import ApiError
from tfjob.local.apiserver.store import StoreError, StoreFullError
from tfjob.local.data_folder import DataFolderError

BREAKDOWNS: Final = (
    DataFolderError,
    StoreError,
    StoreFullError,
    sqlite3.Error,
    ApiError,
    OSError,
    UnicodeDecodeError,
)
"""What a folder, a file, a disk or a part of the cluster can do to the whole."""
_ELSEWHERE: Final = "name another folder with --data, or move this one away"


def sentence(error: Exception, data: Path) -> str:
    """What stopped the cluster, and what helps; the data itself is never touched."""
    if isinstance(error, DataFolderError):
        return str(error)
    if isinstance(error, StoreFullError):
        return f"{data}: {error}; make room on that disk, or name another folder with --data"
    if isinstance(error, StoreError):
        text = str(error)
        return text if "another data folder" in text else f"{text}; {_ELSEWHERE}"
    if isinstance(error, sqlite3.Error | ssl.SSLError | UnicodeDecodeError):
        return f"{data}: its files cannot be read or written: {error}; {_ELSEWHERE}"
    why = error.message if isinstance(error, ApiError) else str(error)
    return f"the cluster cannot go on: {why} (its data is in {data})"
