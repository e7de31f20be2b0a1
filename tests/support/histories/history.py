"""One history: numbers in, a story and the laws that were broken out.

A seed makes a list of numbers; each step is three of them. The same list gives the same history,
and a shorter list is a history too: that is how a failure is shrunk.
"""

import logging
import random
from bisect import bisect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import accumulate
from typing import Final

import msgspec

from tests.support.histories import nodes, tenants
from tests.support.histories.downtime import away, drain
from tests.support.histories.ending import end_well
from tests.support.histories.loop import BusyLoopError
from tests.support.histories.lost_peer import lose_peer
from tests.support.histories.world import Action, World

Step = tuple[int, int, int]
_WIDTH: Final = 1 << 16
Weights = tuple[tuple[Action, int], ...]
"""What can happen, and how often. The first four let everything go on."""
WEIGHTS: Final[Weights] = (
    (World.answer_well, 300),
    (World.deliver, 300),
    (nodes.kubelet, 260),
    (World.wait, 60),
    (World.answer_with_fault, 50),
    (World.submit, 25),
    (World.relist, 12),
    (World.stall, 20),
    (World.collect, 25),
    (World.crash, 12),
    (World.second_leader, 6),
    (World.late_leader, 8),
    (World.lose_lease, 6),
    (World.hand_over, 12),
    (World.skew, 6),
    (World.delete_pod, 12),
    (World.annotate, 10),
    (World.scale, 8),
    (World.suspend, 14),
    (World.delete_job, 4),
    (tenants.spoof, 10),
    (tenants.hold, 10),
    (tenants.deep, 1),
    (tenants.huge, 1),
    (World.arrive, 10),
    (nodes.evict, 14),
    (nodes.lose_node, 3),
    (away, 8),
    (drain, 6),
    (lose_peer, 20),
)
_GOING_ON: Final = 4


class Result(msgspec.Struct):
    """How a history went; `story` has one line per step that did something."""

    steps: int
    broken: list[str]
    story: list[str]


def steps_of(
    seed: int, number: int, *, weights: Weights = WEIGHTS, creates: Action = World.submit
) -> list[Step]:
    """The steps that a seed decides on. They begin with a job."""
    chance = random.Random(seed)  # noqa: S311 - a run must be repeatable
    bounds = _bounds(weights)
    place = [each for each, _ in weights].index(creates)
    draw = chance.randrange
    first: Step = (bounds[place] - 1, draw(_WIDTH), draw(_WIDTH))
    return [first, *((draw(bounds[-1]), draw(_WIDTH), draw(_WIDTH)) for _ in range(number - 1))]


def run(steps: Sequence[Step], *, is_told: bool = False) -> Result:
    """Live through the steps, then let everything come to rest, and check the laws all the time."""
    world = World(holds_results=bool(steps) and steps[0][2] % 2 == 1)
    return run_in(world, steps, is_told=is_told)


def run_in(
    world: World, steps: Sequence[Step], *, weights: Weights = WEIGHTS, is_told: bool = False
) -> Result:
    story: list[str] = []
    with quiet(), world.loop.running():
        try:
            _live(world, steps, weights, story if is_told else None)
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


def _live(world: World, steps: Sequence[Step], weights: Weights, story: list[str] | None) -> None:
    going_on = [each for each, _ in weights[:_GOING_ON]]
    world.start_operator()
    for number, (kind, which, how) in enumerate(steps):
        world.truth.step = number + 1
        said = action(weights, kind)(world, which, how)
        for other in going_on if said is None else ():
            said = other(world, which, how)
            if said is not None:
                break
        world.settle()
        if story is not None:
            story.append(f"{number + 1:4}. {said}")
        if world.laws.broken:
            return


def action(weights: Weights, kind: int) -> Action:
    """The action that the first number of a step means."""
    return weights[bisect(_bounds(weights), kind)][0]


@cache
def _bounds(weights: Weights) -> Sequence[int]:
    return list(accumulate(weight for _, weight in weights))


@contextmanager
def quiet() -> Iterator[None]:
    """Failed passes are part of every history, and not worth a line in a log."""
    log = logging.getLogger("tfjob")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(level)
