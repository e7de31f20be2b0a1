"""Watches: order, selection, slow readers, compacted positions."""

from pathlib import Path
from typing import Any

import pytest

from tfjob.local.apiserver import watchers
from tfjob.local.apiserver.store import Compacted, Key, Store
from tfjob.local.apiserver.watchers import Watch, WatchBroadcaster

Json = dict[str, Any]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "objects.sqlite")


@pytest.fixture
def hub(store: Store) -> WatchBroadcaster:
    return WatchBroadcaster(store)


def put(store: Store, name: str, **labels: str) -> None:
    meta = {"name": name, "uid": name, "labels": labels}
    store.put(Key("things", "ns", name), {"metadata": meta})


def taken(watch: Watch) -> list[tuple[str, str, int]]:
    """All events that a watch has now."""
    found = []
    while watch.has_more:
        found += [(type_, change.key.name, change.revision) for type_, change in watch.take()]
    return found


def red(_namespace: str, _name: str, obj: Json) -> bool:
    return bool(obj["metadata"]["labels"].get("color") == "red")


def test_a_live_watch_sees_changes_in_order(store: Store, hub: WatchBroadcaster) -> None:
    watch = hub.open("things", after=0)
    put(store, "a")
    put(store, "a", x="1")
    assert taken(watch) == [("ADDED", "a", 1), ("MODIFIED", "a", 2)]


def test_changes_of_other_resources_are_not_delivered(store: Store, hub: WatchBroadcaster) -> None:
    watch = hub.open("others", after=0)
    put(store, "a")
    assert taken(watch) == []


def test_a_watch_from_an_older_revision_replays_then_follows_without_a_gap(
    store: Store, hub: WatchBroadcaster
) -> None:
    for number in range(5):
        put(store, f"n{number}")
    watch = hub.open("things", after=2)
    first = watch.take()
    put(store, "late")
    rest = taken(watch)
    revisions = [change.revision for _, change in first] + [revision for _, _, revision in rest]
    assert revisions == [3, 4, 5, 6]


def test_a_slow_reader_loses_nothing(
    store: Store, hub: WatchBroadcaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchers, "QUEUE_LIMIT", 10)
    monkeypatch.setattr(watchers, "REPLAY_BATCH", 7)
    watch = hub.open("things", after=0)
    for number in range(100):
        put(store, f"n{number % 5}", n=str(number))
    assert [revision for _, _, revision in taken(watch)] == list(range(1, 101))


def test_changes_during_a_replay_are_delivered_once(
    store: Store, hub: WatchBroadcaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchers, "REPLAY_BATCH", 3)
    for number in range(8):
        put(store, f"n{number}")
    watch = hub.open("things", after=0)
    seen = []
    for extra in range(4):
        seen += [change.revision for _, change in watch.take()]
        put(store, f"extra{extra}")
    seen += [revision for _, _, revision in taken(watch)]
    assert seen == list(range(1, 13))


def test_a_selector_reports_objects_that_start_or_stop_matching(
    store: Store, hub: WatchBroadcaster
) -> None:
    watch = hub.open("things", after=0, matches=red)
    put(store, "a", color="blue")
    put(store, "a", color="red")
    put(store, "a", color="red", x="1")
    put(store, "a", color="blue")
    assert [type_ for type_, _, _ in taken(watch)] == ["ADDED", "MODIFIED", "DELETED"]


def test_a_replayed_watch_with_a_selector_equals_the_live_one(
    store: Store, hub: WatchBroadcaster
) -> None:
    live = hub.open("things", after=0, matches=red)
    for color in ("blue", "red", "red", "blue", "red"):
        put(store, "a", color=color)
    replayed = hub.open("things", after=0, matches=red)
    assert taken(live) == taken(replayed)


def test_a_compacted_revision_ends_the_watch(store: Store, hub: WatchBroadcaster) -> None:
    for number in range(5):
        put(store, "a", n=str(number))
    store.compact(4)
    watch = hub.open("things", after=1)
    with pytest.raises(Compacted):
        watch.take()


def test_a_closed_watch_gets_no_more_changes(store: Store, hub: WatchBroadcaster) -> None:
    watch = hub.open("things", after=0)
    hub.close(watch)
    put(store, "a")
    assert not watch.has_more


async def test_waiting_ends_with_a_change_or_a_timeout(store: Store, hub: WatchBroadcaster) -> None:
    watch = hub.open("things", after=0)
    assert await watch.wait(0) is False
    put(store, "a")
    assert await watch.wait(0) is True
