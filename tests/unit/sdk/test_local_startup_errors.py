import sqlite3
import ssl
from pathlib import Path

import pytest

from tfjob.client.errors import ApiError
from tfjob.local.apiserver.store import Store, StoreError, StoreFullError
from tfjob.local.data_folder import DataFolderError
from tfjob.sdk.local_startup import STARTUP_ERRORS, startup_error_text

DATA = Path("data")
REMEDY = "choose another folder with --data"


@pytest.mark.parametrize(
    ("error", "parts"),
    [
        (DataFolderError("data: is taken"), ["data: is taken"]),
        (StoreFullError("the disk is full"), ["data: the disk is full; free space", REMEDY]),
        (StoreError("data/x: cannot be opened: why"), ["data/x: cannot be opened: why; ", REMEDY]),
        (
            sqlite3.DatabaseError("malformed"),
            ["data: cannot read or write its files", "malformed", REMEDY],
        ),
        (ssl.SSLError("PEM lib"), ["data: cannot read or write its files", "PEM lib", REMEDY]),
        (
            OSError(5, "Input/output error"),
            ["local cluster stopped", "Input/output error", "is in data"],
        ),
        (ApiError("too late"), ["the local cluster stopped: too late (its data is in data)"]),
    ],
)
def test_startup_error_names_its_place_and_a_remedy(error: Exception, parts: list[str]) -> None:
    assert isinstance(error, STARTUP_ERRORS)
    for part in parts:
        assert part in startup_error_text(error, DATA)


def test_remedy_is_not_given_twice() -> None:
    text = "data/x: in use by another server; stop that one, or use another data folder"
    assert startup_error_text(StoreError(text), DATA) == text


def test_invalid_database_is_a_startup_error(tmp_path: Path) -> None:
    path = tmp_path / "objects.sqlite"
    path.write_bytes(b"nothing that SQLite knows" * 400)
    with pytest.raises(StoreError) as raised:
        Store(path)
    assert startup_error_text(raised.value, tmp_path).startswith(
        f"{path}: is not a data file of tfjob"
    )
