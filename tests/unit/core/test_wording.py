"""Sentences as patterns."""

from tfjob.core.wording import Phrase


def test_a_phrase_takes_the_facts_it_names_and_leaves_the_others() -> None:
    phrase = Phrase("Reason", "{name} has {count}")
    assert phrase.say(name="j", count=2, unused=True) == "j has 2"
