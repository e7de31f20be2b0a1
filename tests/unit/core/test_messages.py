"""Message templates."""

from tfjob.core.messages import MessageTemplate


def test_template_uses_its_own_parameters_and_ignores_others() -> None:
    phrase = MessageTemplate("Reason", "{name} has {count}")
    assert phrase.render(name="j", count=2, unused=True) == "j has 2"
