"""Message templates."""

from tfjob.core.messages import MessageTemplate


def test_a_phrase_takes_the_facts_it_names_and_leaves_the_others() -> None:
    phrase = MessageTemplate("Reason", "{name} has {count}")
    assert phrase.render(name="j", count=2, unused=True) == "j has 2"
