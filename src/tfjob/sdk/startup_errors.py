"""Errors that keep a local cluster from starting or running, as messages with a remedy."""

import sqlite3
import ssl
from pathlib import Path
from typing import Final

from tfjob.client.errors import ApiError
from tfjob.local.apiserver.store import StoreError, StoreFullError
from tfjob.local.data_folder import DataFolderError

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
