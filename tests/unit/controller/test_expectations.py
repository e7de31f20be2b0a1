"""Expectations are met when the informers have seen the write, and expire after a while."""

from tfjob.client.watch_codec import Key
from tfjob.controller.expectations import MAX_WAIT, CreatedHere, Expectations

JOB: Key = ("n", "j")


class World:
    """An informer whose version the test sets."""

    def __init__(self) -> None:
        self.time, self.reached = 0.0, 0
        self.expectations = Expectations({"Pod": self}, clock=lambda: self.time)

    def is_caught_up(self, key: Key, version: str) -> bool:
        return key == JOB and self.reached >= int(version)


def test_job_is_expected_until_the_cache_has_seen_its_writes() -> None:
    harness = World()
    harness.expectations.expect(JOB, {"Pod": "7"}, poll_interval=0.5)
    assert harness.expectations.unmet(JOB) == 0.5
    assert JOB in harness.expectations
    harness.reached = 7
    assert harness.expectations.unmet(JOB) is None
    assert len(harness.expectations) == 0


def test_nothing_is_expected_without_writes_or_without_an_informer() -> None:
    harness = World()
    harness.expectations.expect(JOB, {}, poll_interval=1.0)
    assert JOB not in harness.expectations
    harness.expectations.expect(JOB, {"ConfigMap": "7"}, poll_interval=1.0)
    assert harness.expectations.unmet(JOB) is None


def test_unmet_expectations_expire() -> None:
    harness = World()
    harness.expectations.expect(JOB, {"Pod": "7"}, poll_interval=1.0)
    harness.time = MAX_WAIT - 0.1
    assert harness.expectations.unmet(JOB) == 1.0
    harness.time = MAX_WAIT
    assert harness.expectations.unmet(JOB) is None


def test_later_writes_replace_earlier_ones_and_can_be_forgotten() -> None:
    harness = World()
    harness.expectations.expect(JOB, {"Pod": "7"}, poll_interval=1.0)
    harness.expectations.expect(JOB, {"Pod": "9"}, poll_interval=1.0)
    harness.reached = 7
    assert harness.expectations.unmet(JOB) == 1.0
    harness.expectations.forget(JOB)
    assert harness.expectations.unmet(JOB) is None


def test_job_counts_as_created_here_once_unless_it_was_discarded() -> None:
    created = CreatedHere()
    created.add("u")
    assert [created.take("u") for _ in range(2)] == [True, False]
    for forget in (created.clear, lambda: created.discard("u")):
        created.add("u")
        forget()
        assert not created.take("u")
