"""Informers keep their stores in sync."""

import asyncio
from collections.abc import AsyncGenerator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.fake_time import settle
from tfjob.client.informer import Informer
from tfjob.client.store import Store
from tfjob.client.watch_codec import Changed, Deleted, Event, Progressed, Replaced
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.resource_version import is_older, number, reaches

Changes = list[tuple[str | None, str | None]]


class Thing(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


def thing(name: str, version: str, uid: str = "u") -> Thing:
    return Thing(ObjectMeta(namespace="ns", name=name, uid=uid, resource_version=version))


def text(item: Thing | None) -> str | None:
    return None if item is None else f"{item.metadata.name}{item.metadata.resource_version}"


class FedInformer:
    """An informer with events from the test, and the changes it reported."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[Event[Thing]] = asyncio.Queue()
        self.changes: Changes = []
        self.informer = Informer(
            self,
            store=Store[Thing](),
            on_change=lambda old, new: self.changes.append((text(old), text(new))),
        )

    async def events(self) -> AsyncGenerator[Event[Thing]]:
        while True:
            yield await self._events.get()

    async def feed(self, *events: Event[Thing]) -> None:
        """Run until all events have been processed."""
        for event in events:
            self._events.put_nowait(event)
        running = asyncio.create_task(self.informer.run())
        while not self._events.empty():
            await settle()
        running.cancel()
        await asyncio.wait([running])

    @property
    def stored(self) -> set[str | None]:
        return {text(item) for item in self.informer.store}


async def test_changes_are_reported_as_old_and_new_object() -> None:
    fed = FedInformer()
    await fed.feed(
        Replaced([thing("a", "1")], "1"),
        Changed(thing("b", "2")),
        Changed(thing("a", "3")),
        Deleted(("ns", "b"), "4"),
    )
    assert fed.changes == [(None, "a1"), (None, "b2"), ("a1", "a3"), ("b2", None)]
    assert fed.stored == {"a3"}


async def test_an_equal_version_is_not_reported() -> None:
    fed = FedInformer()
    await fed.feed(Replaced([thing("a", "1")], "1"), Changed(thing("a", "1")))
    await fed.feed(Replaced([thing("a", "1")], "1"))
    assert fed.changes == [(None, "a1")]


async def test_list_reports_objects_that_were_deleted_meanwhile() -> None:
    fed = FedInformer()
    await fed.feed(
        Replaced([thing("a", "1"), thing("b", "2"), thing("c", "3")], "3"),
        Replaced([thing("a", "1"), thing("c", "9"), thing("d", "8")], "9"),
    )
    assert fed.changes[3:] == [("b2", None), ("c3", "c9"), (None, "d8")]
    assert fed.stored == {"a1", "c9", "d8"}


async def test_object_that_could_not_be_decoded_does_not_count_as_deleted() -> None:
    fed = FedInformer()
    await fed.feed(Replaced([thing("a", "1")], "1"), Replaced([], "2", frozenset({("ns", "a")})))
    assert fed.stored == {"a1"}


async def test_an_object_recreated_under_its_name_is_reported_as_deleted_and_new() -> None:
    fed = FedInformer()
    await fed.feed(
        Replaced([thing("a", "1", uid="u1")], "1"), Replaced([thing("a", "5", uid="u2")], "5")
    )
    assert fed.changes == [(None, "a1"), ("a1", None), (None, "a5")]


async def test_replayed_events_do_not_revert_the_store() -> None:
    fed = FedInformer()
    await fed.feed(
        Replaced([thing("a", "7")], "7"), Changed(thing("a", "3")), Deleted(("ns", "a"), "5")
    )
    assert fed.stored == {"a7"}
    assert fed.changes == [(None, "a7")]


async def test_list_from_before_a_restore_replaces_the_store() -> None:
    fed = FedInformer()
    await fed.feed(Replaced([thing("a", "90")], "90"), Replaced([thing("a", "7")], "7"))
    assert fed.stored == {"a7"}


async def test_it_is_synced_once_the_whole_state_is_stored() -> None:
    fed = FedInformer()
    assert not fed.informer.has_synced.is_set()
    await fed.feed(Replaced([], "1"))
    assert fed.informer.has_synced.is_set()


async def test_a_writer_sees_its_own_write_come_back() -> None:
    fed = FedInformer()
    await fed.feed(Replaced([], "1"))
    await fed.feed(Changed(thing("b", "4")))
    assert not fed.informer.is_caught_up(("ns", "a"), "5")
    await fed.feed(Changed(thing("a", "5")))
    assert fed.informer.is_caught_up(("ns", "a"), "5")


async def test_a_bookmark_shows_that_a_write_has_passed() -> None:
    fed = FedInformer()
    await fed.feed(Replaced([], "1"), Progressed("9"))
    assert fed.informer.is_caught_up(("ns", "a"), "8")


async def test_versions_that_are_no_numbers_are_met_in_the_object_itself() -> None:
    fed = FedInformer()
    await fed.feed(Replaced([thing("a", "x-1")], "x-9"))
    assert fed.informer.is_caught_up(("ns", "a"), "x-1")
    assert not fed.informer.is_caught_up(("ns", "a"), "x-2")


moves = st.lists(
    st.tuples(st.sampled_from(["put", "delete", "relist"]), st.sampled_from("abc")), max_size=30
)


@given(moves=moves)
async def test_reported_changes_add_up_to_the_store(moves: list[tuple[str, str]]) -> None:
    fed = FedInformer()
    server: dict[str, Thing] = {}
    events: list[Event[Thing]] = [Replaced([], "0")]
    for version, (kind, name) in enumerate(moves, start=1):
        if kind == "put":
            server[name] = thing(name, str(version))
            events.append(Changed(server[name]))
        elif kind == "delete" and name in server:
            del server[name]
            events.append(Deleted(("ns", name), str(version)))
        elif kind == "relist":
            server.pop(name, None)
            events.append(Replaced(list(server.values()), str(version)))
    await fed.feed(*events)
    counted: set[str | None] = set()
    for old, new in fed.changes:
        counted = (counted - {old}) | ({new} - {None})
    assert fed.stored == {text(item) for item in server.values()} == counted


@pytest.mark.parametrize(
    ("version", "than", "older"),
    [
        ("9", "10", True),
        ("10", "9", False),
        ("10", "10", False),
        ("a", "b", False),
        ("9", "b", False),
        ("", "1", False),
        ("²", "9", False),
    ],
)
def test_only_numbers_can_be_older(version: str, than: str, older: bool) -> None:
    assert is_older(version, than) is older


@pytest.mark.parametrize(
    ("seen", "wanted", "expected"),
    [
        ("10", "9", True),
        ("10", "10", True),
        ("10", "11", False),
        ("", "1", False),
        ("v-c", "v-b", False),
        ("v-b", "v-b", True),
    ],
)
def test_older_numbers_count_as_seen_and_other_versions_if_they_are_equal(
    seen: str, wanted: str, expected: bool
) -> None:
    assert reaches(seen, wanted) is expected


@given(text=st.text(max_size=10))
def test_any_version_is_a_number_or_none(text: str) -> None:
    value = number(text)
    assert value is None or value >= 0
