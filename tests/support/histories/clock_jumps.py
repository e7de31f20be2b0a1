"""The same events twice, once with clocks that jump: what is decided must be the same.

The operator watches all the time, so that it sees each event before the next one happens. The
clocks of the operator, of the API server and of each node jump by ten minutes, forward or back, at
any moment, also between two requests of one reconcile. Jobs have neither a deadline nor a time to
live: these are times of a clock by definition.
"""

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from tests.support.histories import history, nodes
from tests.support.histories.choices import new_job
from tests.support.histories.history import Step, Weights
from tests.support.histories.server import JOBS, PODS
from tests.support.histories.world import World

JUMPS: Final = (-600, 600)
_NODES: Final = ("n0", "n1", "n2")
_QUIET_SECONDS: Final = 1800.0
"""Longer than any delay, also one that two wrong clocks stretch: no event meets a waiting job."""
_DELAYS: Final = 2
"""A delay may be followed by another one: a job that has failed waits for its replicas to end."""
_CHANCE: Final = 0.2
"""Of a jump, between any two things that happen."""
_EVENTS: Final = 60
_MOST_TALK: Final = 10_000
Snapshot = list[str]


def _submit(world: World, which: int, how: int) -> str | None:
    key = (JOBS, "a", f"j{which % 2}")
    if key in world.server.objects:
        return None
    body = new_job(key[2], which, how)
    for field in ("activeDeadlineSeconds", "ttlSecondsAfterFinished"):
        body["spec"]["runPolicy"].pop(field, None)
    world.server.create(JOBS, key[1], body)
    return f"a user creates job {key[2]}"


def _delete_pod(world: World, which: int, _: int) -> str | None:
    return world.delete_pod(which, 1)


def _lose_node(world: World, which: int, _: int) -> str | None:
    """A node is lost and cleaned up after at once: when to do so by force is a matter of time."""
    if world.server.lost_nodes:
        return None
    node = f"n{which % 3}"
    world.server.lost_nodes.add(node)
    nodes.clean_lost(world, node)
    return f"node {node} is lost with its pods"


EVENTS: Final[Weights] = (
    (nodes.kubelet, 400),
    (_submit, 20),
    (nodes.evict, 20),
    (_lose_node, 3),
    (_delete_pod, 20),
    (World.suspend, 15),
    (World.scale, 10),
    (World.annotate, 5),
)


def difference(seed: int) -> str:
    """The first event after which jumping clocks make a difference; empty if none does."""
    still, jumping = (decisions(seed, jumps=each) for each in (False, True))
    for place, (one, other) in enumerate(zip(still, jumping, strict=True)):
        if one != other:
            return f"event {place + 1}: {one} with clocks that are right, {other} with others"
    return ""


def decisions(seed: int, *, jumps: bool) -> list[Snapshot]:
    """What is stored after each event of a history."""
    steps = history.steps_of(seed, _EVENTS, weights=EVENTS, creates=_submit)
    chance = random.Random(seed)  # noqa: S311 - a run must be repeatable
    world = World()
    with history.quiet(), world.loop.running():
        found = _live(world, steps, chance if jumps else None)
        for operator in world.operators:
            operator.crash()
        world.loop.settle()
    return found


def _live(world: World, steps: Sequence[Step], chance: random.Random | None) -> list[Snapshot]:
    world.start_operator()
    _talk(world, chance)
    found = []
    for number, (kind, which, how) in enumerate(steps):
        world.truth.step = number + 1
        said = history.action(EVENTS, kind)(world, which, how)
        _talk(world, chance)
        for _ in range(_DELAYS):
            world.loop.advance(_QUIET_SECONDS)
            _talk(world, chance)
        while world.server.collect() is not None:
            _talk(world, chance)
        found.append([str(said), *_decided(world)])
    return found


def _talk(world: World, chance: random.Random | None) -> None:
    """Let the operator see and do everything; clocks may jump between any two requests."""
    for _ in range(_MOST_TALK):
        _jump(world, chance)
        world.settle()
        if world.answer(0) is None and world.deliver(0, 0) is None:
            return
    raise AssertionError("requests without end, and no time passes")


def _jump(world: World, chance: random.Random | None) -> None:
    if chance is None or chance.random() >= _CHANCE:
        return
    seconds = chance.choice((*JUMPS, 0))
    which = chance.choice(("operator", "server", *_NODES))
    if which == "operator":
        world.operators[0].skew = timedelta(seconds=seconds)
    elif which == "server":
        world.server_skew = seconds
    else:
        world.node_skews[which] = seconds


def _decided(world: World) -> Snapshot:
    """Conditions, counts and successes of each job, and the pods; no times."""
    found = []
    for job in world.truth.jobs.values():
        conditions = [(each.type, each.status, each.reason) for each in job.status.conditions]
        counts = {
            kind: (each.restarts, sorted(each.completed), each.succeeded, each.failed)
            for kind, each in job.status.replicas.items()
        }
        found.append(f"{job.uid} {job.verdict} {conditions} {counts}")
    for key in world.keys(PODS):
        pod = world.server.objects[key]
        found.append(f"{key[2]} {pod['metadata']['uid']} {pod['status'].get('phase')}")
    return found
