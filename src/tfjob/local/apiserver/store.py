"""Objects as an append-only log of revisions in one SQLite file.

A row is written once; only its end revision is filled in later. Rows without an end are the current
state, so lists at an older revision and replays for watches read the same table. There is one
writer, and each call is atomic on the event loop. Bodies are opaque except for `metadata`.
"""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tfjob.local.data_folder import open_file

Json = dict[str, Any]

LAYOUT = 1
KEPT_REVISIONS = 20_000
_IN_MEMORY = ":memory:"

# synchronous=NORMAL: a commit is with the operating system when we answer, so kill -9 loses
# nothing; a power cut can lose the last commits and never damages the file. FULL would wait for
# the disk at every write, too slow for the 500 creates a second that jobs need.
# locking_mode=EXCLUSIVE: a second server on the same folder is refused instead of sharing it.
_PRAGMAS = """
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -8000;
"""
_TABLES = """
CREATE TABLE IF NOT EXISTS log (
  revision INTEGER PRIMARY KEY, resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
  uid TEXT NOT NULL, type TEXT NOT NULL, body BLOB NOT NULL, ended INTEGER);
CREATE UNIQUE INDEX IF NOT EXISTS live ON log (resource, namespace, name) WHERE ended IS NULL;
CREATE INDEX IF NOT EXISTS live_uid ON log (uid) WHERE ended IS NULL;
CREATE INDEX IF NOT EXISTS past ON log (ended) WHERE ended IS NOT NULL;
CREATE INDEX IF NOT EXISTS feed ON log (resource, revision);
CREATE TABLE IF NOT EXISTS owned (
  owner TEXT NOT NULL, resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY (owner, resource, namespace, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class StoreError(Exception):
    """The data folder cannot be used; the message says why and what to do."""


class StoreFullError(Exception):
    """The disk refused a write; nothing of it was stored."""


class Compacted(Exception):  # noqa: N818 - an expected answer, not a fault of ours
    """The revision is no longer kept."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {asked} ({oldest})")
        self.asked = asked
        self.oldest = oldest


def _ignored(_fault: str) -> None:
    """The default: do nothing."""


class Key(NamedTuple):
    resource: str
    namespace: str
    name: str


class StoredObject(NamedTuple):
    """An object at a revision."""

    namespace: str
    name: str
    revision: int
    body: bytes

    def object(self) -> Json:
        """A fresh copy, for the caller to change."""
        return dict(_decode(self.body))


class Change:
    """A revision: ADDED, MODIFIED or DELETED; the body of a deletion is the last state."""

    def __init__(
        self, *, revision: int, key: Key, type_: str, body: bytes, before: bytes | None
    ) -> None:
        self.revision = revision
        self.key = key
        self.type = type_
        self.body = body
        self.before = before
        self.lines: dict[object, bytes] = {}  # encoded once per served version, for all watchers

    @cached_property
    def object(self) -> Json:
        """Decoded once for all readers: not to be changed."""
        return dict(_decode(self.body))

    @cached_property
    def object_before(self) -> Json:
        """Decoded once and shared: do not modify."""
        return {} if self.before is None else dict(_decode(self.before))


class Store:
    """Access to the stored objects."""

    def __init__(
        self,
        path: Path,
        *,
        kept_revisions: int = KEPT_REVISIONS,
        on_write_health: Callable[[str], None] = _ignored,
    ) -> None:
        self._folder = path.parent
        self._on_write_health = on_write_health
        self._is_writable = True
        self._kept = kept_revisions
        self._listeners: list[Callable[[Change], None]] = []
        self._db = _opened(path)
        self.revision = self._number("SELECT max(revision) FROM log")
        self.revision = max(self.revision, self._fact("revision"))
        self.compacted = self._fact("compacted")
        self._compact_at = max(self.compacted, 0) + 2 * kept_revisions

    def close(self) -> None:
        self._db.close()

    def listen(self, listener: Callable[[Change], None]) -> None:
        """Call the listener with every change, in order, after it is stored."""
        self._listeners.append(listener)

    # -- writing ---------------------------------------------------------------------------------

    def put(self, key: Key, obj: Json) -> Change:
        """Store the next revision of an object and set its resourceVersion."""
        before = self._live(key)
        change = self._append(key, obj, before=before, type_="MODIFIED" if before else "ADDED")
        self._tell(change)
        return change

    def remove(self, key: Key, obj: Json) -> Change:
        """Store the deletion of an object; watchers see `obj` as its last state."""
        change = self._append(key, obj, before=self._live(key), type_="DELETED")
        self._tell(change)
        return change

    def _append(self, key: Key, obj: Json, *, before: StoredObject | None, type_: str) -> Change:
        revision = self.revision + 1
        meta = obj["metadata"]
        meta["resourceVersion"] = str(revision)
        body = _encode(obj)
        ended = revision if type_ == "DELETED" else None
        with self._transaction():
            if before:
                self._db.execute(
                    "UPDATE log SET ended=? WHERE revision=?", (revision, before.revision)
                )
            row = (revision, *key, meta.get("uid", ""), type_, body, ended)
            self._db.execute("INSERT INTO log VALUES (?,?,?,?,?,?,?,?)", row)
            self._index_owners(key, meta if ended is None else {}, before)
        self.revision = revision
        return Change(
            revision=revision,
            key=key,
            type_=type_,
            body=body,
            before=before.body if before else None,
        )

    def _index_owners(self, key: Key, meta: Json, before: StoredObject | None) -> None:
        owners = {ref.get("uid", "") for ref in meta.get("ownerReferences") or ()}
        if before is not None and (owners or b'"ownerReferences"' in before.body):
            sql = "DELETE FROM owned WHERE owner=? AND resource=? AND namespace=? AND name=?"
            refs = before.object()["metadata"].get("ownerReferences") or ()
            gone = {ref.get("uid", "") for ref in refs} - owners
            self._db.executemany(sql, [(uid, *key) for uid in gone])
        if owners:
            rows = [(uid, *key) for uid in owners]
            self._db.executemany("INSERT OR IGNORE INTO owned VALUES (?,?,?,?)", rows)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            self._report_health(str(error))
            raise StoreFullError(
                f"the data folder {self._folder} rejected a write and stored nothing: {error}; "
                "reads still work; writes will work again when there is space"
            ) from error

        else:
            self._report_health("")

    def _report_health(self, fault: str) -> None:
        """Report when writes begin to fail, with the reason, and when they work again, with ""."""
        if self._is_writable == bool(fault):
            self._is_writable = not fault
            self._on_write_health(fault)

    def _tell(self, change: Change) -> None:
        for listener in self._listeners:
            listener(change)
        if change.revision >= self._compact_at:
            self._compact_at = change.revision + self._kept
            # Compaction can wait; the change itself is stored.
            with contextlib.suppress(StoreFullError):
                self.compact(change.revision - self._kept)

    def compact(self, revision: int) -> None:
        """Drop everything that ended at or before this revision."""
        if revision <= self.compacted:
            return
        with self._transaction():
            # The newest revision must survive a restart even if its row was compacted.
            facts = [("revision", self.revision), ("compacted", revision)]
            self._db.executemany("INSERT OR REPLACE INTO fact VALUES (?,?)", facts)
            self._db.execute("DELETE FROM log WHERE ended <= ?", (revision,))
        self.compacted = revision

    # -- reading ---------------------------------------------------------------------------------

    def get(self, key: Key) -> StoredObject | None:
        return self._live(key)

    def _live(self, key: Key) -> StoredObject | None:
        sql = (
            "SELECT namespace, name, revision, body FROM log"
            " WHERE resource=? AND namespace=? AND name=? AND ended IS NULL"
        )
        row = self._db.execute(sql, key).fetchone()
        return StoredObject(*row) if row else None

    def find_uid(self, uid: str) -> Key | None:
        """The key of the object with this UID."""
        sql = "SELECT resource, namespace, name FROM log WHERE uid=? AND ended IS NULL"
        row = self._db.execute(sql, (uid,)).fetchone()
        return Key(*row) if row else None

    def owned_by(self, uid: str) -> list[Key]:
        """Keys of objects with this owner UID."""
        sql = "SELECT resource, namespace, name FROM owned WHERE owner=?"
        return [Key(*row) for row in self._db.execute(sql, (uid,))]

    def owner_uids(self) -> list[str]:
        """All UIDs that objects name as owners."""
        return [row[0] for row in self._db.execute("SELECT DISTINCT owner FROM owned")]

    def resources_in(self, namespace: str) -> list[str]:
        """Resources with objects in this namespace."""
        sql = "SELECT DISTINCT resource FROM log WHERE namespace=? AND ended IS NULL"
        return [row[0] for row in self._db.execute(sql, (namespace,))]

    def count(self, resource: str, namespace: str = "") -> int:
        sql = "SELECT count(*) FROM log WHERE resource=? AND ended IS NULL"
        if not namespace:
            return self._number(sql, (resource,))
        return self._number(sql + " AND namespace=?", (resource, namespace))

    def page(
        self,
        resource: str,
        *,
        namespace: str = "",
        at: int | None = None,
        after: tuple[str, str] = ("", ""),
        limit: int = -1,
    ) -> list[StoredObject]:
        """Objects ordered by namespace and name; now, or at a kept revision."""
        if at is not None and at < self.compacted:
            raise Compacted(at, self.compacted)
        where, values = "resource=?", [resource]
        if namespace:
            where, values = where + " AND namespace=?", [*values, namespace]
        if after != ("", ""):
            where, values = where + " AND (namespace, name) > (?, ?)", [*values, *after]
        moment = "ended IS NULL"
        if at is not None and at < self.revision:
            # The row of a deletion ends at its own revision, so no snapshot contains it.
            moment = f"revision <= {at:d} AND (ended IS NULL OR ended > {at:d})"
        sql = (
            f"SELECT namespace, name, revision, body FROM log WHERE {where} AND {moment}"  # noqa: S608 - built from constants and integers
            f" ORDER BY namespace, name LIMIT {limit:d}"
        )
        return [StoredObject(*row) for row in self._db.execute(sql, values)]

    def changes(self, resource: str, *, after: int, limit: int) -> list[Change]:
        """Changes after a revision, in order, each with the state before it."""
        if after < self.compacted:
            raise Compacted(after, self.compacted)
        sql = (
            "SELECT now.revision, now.namespace, now.name, now.type, now.body, old.body"
            " FROM log now LEFT JOIN log old"
            " ON old.ended = now.revision AND old.revision < now.revision"
            " WHERE now.resource=? AND now.revision>? ORDER BY now.revision LIMIT ?"
        )
        return [
            Change(revision=rev, key=Key(resource, ns, name), type_=type_, body=body, before=before)
            for rev, ns, name, type_, body, before in self._db.execute(
                sql, (resource, after, limit)
            )
        ]

    def _fact(self, name: str) -> int:
        return self._number("SELECT value FROM fact WHERE name=?", (name,))

    def _number(self, sql: str, values: tuple[str, ...] = ()) -> int:
        row = self._db.execute(sql, values).fetchone()
        return int(row[0]) if row and row[0] is not None else 0


def _opened(path: Path) -> sqlite3.Connection:
    try:
        if str(path) != _IN_MEMORY:
            # SQLite gives its write-ahead log the mode of the file itself.
            os.close(open_file(path, os.O_RDWR | os.O_CREAT))
        db = sqlite3.connect(path, isolation_level=None, timeout=1.0, cached_statements=64)
        layout = int(db.execute("PRAGMA user_version").fetchone()[0])
        if layout > LAYOUT:
            db.close()
            raise StoreError(
                f"{path}: written by a newer tfjob "
                f"(layout {layout}, this one reads up to {LAYOUT}); nothing was changed: "
                "use the newer tfjob, or another data folder"
            )
        db.executescript(_PRAGMAS)
        db.executescript(_TABLES + f"PRAGMA user_version = {LAYOUT};")
    except OSError as error:
        raise StoreError(f"{path}: cannot be opened: {error.strerror}") from error
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise StoreError(
                f"{path}: in use by another server; stop that one, or use another data folder"
            ) from error
        raise StoreError(f"{path}: cannot be opened: {error}") from error
    except sqlite3.DatabaseError as error:
        raise StoreError(
            f"{path}: is not a data file of tfjob: {error}; nothing was changed"
        ) from error
    return db
