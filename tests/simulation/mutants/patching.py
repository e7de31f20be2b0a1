"""What a mutant is: a name, a sentence, and the parts of the product that it replaces."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec


class Patch(msgspec.Struct, frozen=True):
    """One attribute of a module or class; `change` gets what stands there and gives what shall."""

    target: Any
    name: str
    change: Callable[[Any], Any]


class Mutant(msgspec.Struct, frozen=True):
    """A bug that somebody could write."""

    name: str
    says: str
    patches: Sequence[Patch]
    proof: str = ""
    """The proof in whose histories it is hunted, because no law of the others is about it."""


@contextmanager
def alive(mutant: Mutant) -> Iterator[None]:
    """Within this block the product has the bug."""
    with ExitStack() as stack:
        for patch in mutant.patches:
            stack.enter_context(_patched(patch))
        yield


@contextmanager
def _patched(patch: Patch) -> Iterator[None]:
    before = vars(patch.target)[patch.name]
    setattr(patch.target, patch.name, patch.change(before))
    try:
        yield
    finally:
        setattr(patch.target, patch.name, before)


def always(value: Any) -> Callable[[Any], Any]:
    """A function that gives the same answer whatever it is asked."""
    return lambda _before: lambda *_args, **_kwargs: value
