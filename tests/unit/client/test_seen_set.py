"""What was seen lately is known, and memory of it is bounded."""

import tracemalloc

from tfjob.client.seen_set import SeenSet


def test_only_what_was_added_was_seen() -> None:
    recent = SeenSet(3)
    recent.add("a")
    assert recent.saw("a")
    assert not recent.saw("b")
    assert not recent.saw("b")


def test_the_latest_are_known_and_at_most_twice_as_many_are_kept() -> None:
    recent = SeenSet(10)
    for number in range(1000):
        recent.add(number)
        assert all(recent.saw(late) for late in range(max(0, number - 9), number + 1))
        assert len(recent) <= 20
    assert not recent.saw(0)


def test_what_is_seen_again_and_again_is_never_forgotten() -> None:
    recent = SeenSet(10)
    recent.add("again")
    for number in range(1000):
        recent.add(number)
        assert recent.saw("again")


def test_memory_does_not_grow_with_what_is_seen() -> None:
    recent = SeenSet(1000)
    tracemalloc.start()
    try:
        for number in range(1001):
            recent.add(f"event {number}")
        before, _ = tracemalloc.get_traced_memory()
        for number in range(20_999):
            recent.add(f"later event {number}")
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 40_000
