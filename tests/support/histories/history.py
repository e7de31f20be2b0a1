"""One history: numbers in, a story and the laws that were broken out.

A seed makes a list of numbers; each step is three of them. The same list gives the same history,
and a shorter list is a history too: that is how a failure is shrunk.
"""

import logging
import random
from bisect import bisect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Final

import msgspec

from tests.support.histories.ending import end_well
from tests.support.histories.loop import BusyLoopError
from tests.support.histories.lost_peer import lose_peer
from tests.support.histories.world import Action, World

Step = tuple[int, int, int]
_WIDTH: Final = 1 << 16
_WEIGHTS: Final[Sequence[tuple[Action, int]]] = (
    (lambda world, which, _: world.answer(which), 300),
    (World.deliver, 300),
    (World.kubelet, 260),
    (World.wait, 60),
    (World.answer_with_fault, 50),
    (World.submit, 25),
    (World.relist, 12),
    (World.stall, 10),
    (World.collect, 25),
    (World.crash, 12),
    (World.second_leader, 3),
    (World.hand_over, 12),
    (World.skew, 6),
    (World.delete_pod, 12),
    (World.annotate, 10),
    (World.scale, 8),
    (World.suspend, 10),
    (World.delete_job, 4),
    (World.spoof, 10),
    (World.hold, 6),
    (World.deep, 1),
    (World.evict, 14),
    (World.lose_node, 3),
    (lose_peer, 20),
)
_ACTIONS: Final = [action for action, _ in _WEIGHTS]
_BOUNDS: Final = list(accumulate(weight for _, weight in _WEIGHTS))
_PROGRESS: Final = _ACTIONS[:4]


class Result(msgspec.Struct):
    """How a history went; `story` has one line per step that did something."""

    steps: int
    broken: list[str]
    story: list[str]


def steps_of(seed: int, number: int) -> list[Step]:
    """The steps that a seed decides on. It begins with a job."""
    chance = random.Random(seed)  # noqa: S311 - a run must be repeatable
    first: Step = (_bound_of(World.submit), chance.randrange(_WIDTH), chance.randrange(_WIDTH))
    draw = chance.randrange
    return [first, *((draw(_BOUNDS[-1]), draw(_WIDTH), draw(_WIDTH)) for _ in range(number - 1))]


def run(steps: Sequence[Step], *, is_told: bool = False) -> Result:
    """Live through the steps, then let everything come to rest, and check the laws all the time."""
    world = World()
    story: list[str] = []
    with _quiet(), world.loop.running():
        try:
            _live(world, steps, story, is_told=is_told)
            if not world.laws.broken:
                story.append("the faults end")
                world.laws.broken += end_well(world)
        except BusyLoopError as error:
            world.laws.broken.append(str(error))
        world.laws.broken += world.loop.faults
        for operator in world.operators:
            operator.crash()
        world.loop.settle()
    return Result(world.truth.step, world.laws.broken, story)


def shrink(steps: Sequence[Step]) -> list[Step]:
    """A short list of steps that breaks a law as well."""
    found = list(steps)
    result = run(found)
    found = found[: result.steps]
    size = max(1, len(found) // 2)
    while size:
        start = 0
        while start < len(found):
            shorter = found[:start] + found[start + size :]
            if run(shorter).broken:
                found = shorter
            else:
                start += size
        size //= 2
    return found


def _live(world: World, steps: Sequence[Step], story: list[str], *, is_told: bool) -> None:
    world.start_operator()
    for number, (kind, which, how) in enumerate(steps):
        world.truth.step = number + 1
        said = _ACTIONS[bisect(_BOUNDS, kind)](world, which, how)
        for other in _PROGRESS if said is None else ():
            said = other(world, which, how)
            if said is not None:
                break
        world.settle()
        if is_told:
            story.append(f"{number + 1:4}. {said}")
        if world.laws.broken:
            return


def _bound_of(action: Action) -> int:
    return _BOUNDS[_ACTIONS.index(action)] - 1


@contextmanager
def _quiet() -> Iterator[None]:
    """Failed passes are part of every history, and not worth a line in a log."""
    log = logging.getLogger("tfjob")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(level)
