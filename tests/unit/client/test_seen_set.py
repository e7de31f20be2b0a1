"""Recently seen items are known, and memory does not grow."""

import tracemalloc

from tfjob.client.seen_set import SeenSet


def test_only_what_was_added_was_seen() -> None:
    recent = SeenSet(3)
    recent.add("a")
    assert recent.saw("a")
    assert not recent.saw("b")
    assert not recent.saw("b")


def test_an_item_whose_hash_is_that_of_an_empty_place_is_seen_only_if_it_was_added() -> None:
    recent = SeenSet(10)
    assert not recent.saw(0)
    recent.add(0)
    assert recent.saw(0)


def test_the_latest_are_known_and_the_oldest_are_forgotten() -> None:
    recent = SeenSet(10)
    for number in range(1000):
        recent.add(number)
        assert all(recent.saw(late) for late in range(max(0, number - 9), number + 1))
    assert not recent.saw(0)


def test_what_is_seen_again_and_again_is_never_forgotten() -> None:
    recent = SeenSet(10)
    recent.add("again")
    for number in range(1000):
        recent.add(number)
        assert recent.saw("again")


def test_of_as_many_items_as_it_has_room_for_nearly_all_are_known() -> None:
    """Numbers are their own hashes, so the test does not depend on chance."""
    recent, items = SeenSet(1000), [number * 2_654_435_761 for number in range(1000)]
    for item in items:
        recent.add(item)
    assert sum(map(recent.saw, items[500:])) > 450


def test_memory_does_not_grow_with_the_number_of_items() -> None:
    recent = SeenSet(1000)
    recent.add(-1)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(20_000):
            recent.add(f"item {number}")
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 1000
