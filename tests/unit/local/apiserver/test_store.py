"""The store: revisions, snapshots, replay, compaction, and recovery after kill -9."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tfjob.local.apiserver.store import Change, Compacted, Key, Store, StoreError, StoreFullError

Json = dict[str, Any]


def thing(name: str, **more: Any) -> tuple[Key, Json]:
    key = Key("things", "ns", name)
    return key, {"metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", **more}}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "objects.sqlite")


def names(store: Store, *, at: int | None = None) -> list[str]:
    return [row.name for row in store.page("things", at=at)]


def test_every_write_is_one_revision_and_the_object_carries_it(store: Store) -> None:
    first = store.put(*thing("a"))
    second = store.put(*thing("b"))
    assert [first.revision, second.revision, store.revision] == [1, 2, 2]
    assert second.object["metadata"]["resourceVersion"] == "2"


def test_a_list_at_a_kept_revision_shows_the_objects_of_that_revision(store: Store) -> None:
    store.put(*thing("a"))
    store.put(*thing("b"))
    store.put(*thing("a", labels={"x": "y"}))
    store.remove(*thing("b"))
    assert [names(store, at=moment) for moment in (1, 2, 3, 4)] == [
        ["a"],
        ["a", "b"],
        ["a", "b"],
        ["a"],
    ]
    assert store.page("things", at=2)[0].revision == 1


def test_pages_continue_in_order(store: Store) -> None:
    for name in "cab":
        store.put(*thing(name))
    first = store.page("things", limit=2)
    rest = store.page("things", after=(first[-1].namespace, first[-1].name))
    assert [row.name for row in first + rest] == ["a", "b", "c"]


def test_replay_gives_each_change_with_the_state_before_it(store: Store) -> None:
    store.put(*thing("a"))
    store.put(*thing("a", labels={"x": "1"}))
    store.remove(*thing("a", labels={"x": "1"}))
    changes = store.changes("things", after=1, limit=10)
    assert [(change.type, change.revision) for change in changes] == [
        ("MODIFIED", 2),
        ("DELETED", 3),
    ]
    assert changes[0].object_before["metadata"]["resourceVersion"] == "1"
    assert changes[1].object_before["metadata"]["labels"] == {"x": "1"}


def test_replay_equals_what_listeners_received(store: Store) -> None:
    heard: list[Change] = []
    store.listen(heard.append)
    store.put(*thing("a"))
    store.put(*thing("a", labels={"x": "1"}))
    store.remove(*thing("a"))
    replayed = store.changes("things", after=0, limit=10)
    assert [(c.type, c.revision, c.body, c.before) for c in heard] == [
        (c.type, c.revision, c.body, c.before) for c in replayed
    ]


def test_compaction_removes_old_revisions_and_keeps_the_objects(store: Store) -> None:
    store.put(*thing("a"))
    store.put(*thing("a", labels={"x": "1"}))
    store.put(*thing("b"))
    store.compact(2)
    assert names(store) == ["a", "b"]
    with pytest.raises(Compacted, match=r"too old resource version: 1 \(2\)"):
        store.changes("things", after=1, limit=10)
    with pytest.raises(Compacted):
        store.page("things", at=1)
    assert [change.revision for change in store.changes("things", after=2, limit=10)] == [3]


def test_compaction_is_automatic(tmp_path: Path) -> None:
    store = Store(tmp_path / "objects.sqlite", kept_revisions=10)
    for number in range(50):
        store.put(*thing("a", labels={"n": str(number)}))
    assert store.compacted >= 30
    assert len(store.changes("things", after=store.compacted, limit=100)) >= 10


def test_the_revision_never_goes_back_after_a_restart(tmp_path: Path) -> None:
    store = Store(tmp_path / "objects.sqlite")
    store.put(*thing("a"))
    store.remove(*thing("a"))
    store.compact(store.revision)
    store.close()
    assert Store(tmp_path / "objects.sqlite").revision == 2


def test_dependents_are_found_until_the_reference_or_the_object_is_removed(store: Store) -> None:
    owners = [{"uid": "o1"}, {"uid": "o2"}]
    store.put(*thing("a", ownerReferences=owners))
    assert store.owned_by("o1") == [Key("things", "ns", "a")]
    store.put(*thing("a", ownerReferences=owners[1:]))
    assert store.owned_by("o1") == []
    store.remove(*thing("a", ownerReferences=owners[1:]))
    assert store.owner_uids() == []


def test_objects_are_found_by_uid_while_they_exist(store: Store) -> None:
    store.put(*thing("a"))
    assert store.find_uid("uid-a") == Key("things", "ns", "a")
    store.remove(*thing("a"))
    assert store.find_uid("uid-a") is None


def test_a_second_server_on_the_same_folder_is_rejected(tmp_path: Path) -> None:
    first = Store(tmp_path / "objects.sqlite")
    with pytest.raises(StoreError, match="in use by another server"):
        Store(tmp_path / "objects.sqlite")
    first.close()


def test_a_folder_of_a_newer_version_is_rejected_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "objects.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError, match="written by a newer tfjob"):
        Store(path)


def test_a_file_that_is_not_a_database_is_rejected_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "objects.sqlite"
    path.write_bytes(b"this is a letter, not a database" * 50)
    with pytest.raises(StoreError, match="not a data file"):
        Store(path)
    assert path.read_bytes().startswith(b"this is a letter")


def test_a_full_disk_rejects_the_write_and_loses_nothing(store: Store) -> None:
    store.put(*thing("a"))
    store._db.execute("PRAGMA max_page_count = 1")
    with pytest.raises(StoreFullError, match=r"the data folder .* stored nothing"):
        store.put(*thing("large", annotations={"x": "y" * 500_000}))
    store._db.execute("PRAGMA max_page_count = 100000")
    assert store.put(*thing("last")).revision == 2
    assert "a" in names(store)


def test_a_write_succeeds_even_if_compaction_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(revision: int) -> None:
        raise StoreFullError(f"the disk is full at revision {revision}")

    store = Store(tmp_path / "objects.sqlite", kept_revisions=1)
    monkeypatch.setattr(store, "compact", refuse)
    for number in range(5):
        store.put(*thing(f"n{number}"))
    assert len(names(store)) == 5


WRITER = """
import sys
from pathlib import Path
from tfjob.local.apiserver.store import Key, Store
store = Store(Path(sys.argv[1]), kept_revisions=50)
number = 0
while True:
    number += 1
    name = f"n{number % 7}"
    obj = {"metadata": {"name": name, "namespace": "ns", "uid": name, "labels": {"n": str(number)}}}
    change = store.put(Key("things", "ns", name), obj)
    print(change.revision, name, number, flush=True)
"""


def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "objects.sqlite"
    newest = 0
    for round_ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        acknowledged = [writer.stdout.readline() for _ in range(100 + 37 * round_)]
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged += writer.stdout.read().splitlines(keepends=True)
        writer.stdout.close()
        writer.wait()
        writes = [line.split() for line in acknowledged if line.endswith("\n")]
        store = Store(path, kept_revisions=50)
        assert store.revision >= int(writes[-1][0]) > newest
        newest = store.revision
        last = {name: int(number) for _, name, number in writes}
        for row in store.page("things"):
            assert int(row.object()["metadata"]["labels"]["n"]) >= last[row.name]
        store.close()
