"""The published list of causes."""

from tfjob.core.diagnosis.causes import BLOCKING, CATALOGUE, DISRUPTIONS, Cause


def test_every_cause_says_what_happened_and_what_to_do() -> None:
    assert set(CATALOGUE) == set(Cause)
    for info in CATALOGUE.values():
        assert info.text
        assert info.remedy.endswith(".")


def test_a_cause_is_a_wait_or_an_incident() -> None:
    assert not BLOCKING & DISRUPTIONS
    assert Cause.OUT_OF_MEMORY not in BLOCKING
    assert Cause.IMAGE_NOT_PULLED in BLOCKING
