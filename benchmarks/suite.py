"""Which scenarios are run by whom and how large: the programme of a benchmark.

A course is what happens on one control plane, step by step; a step is one scenario.
"""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final

import msgspec

from benchmarks.bench_env import Measured, Stage
from benchmarks.contestants import OURS, PEER, PEER_DEFAULT, RAW
from benchmarks.scenarios import behind, fleet, foreign, many, raw, recovery, wide


class Step(msgspec.Struct, frozen=True):
    """One scenario at one size."""

    name: str
    title: str
    measure: Callable[[Stage], Awaitable[Measured]]


class Course(msgspec.Struct, frozen=True):
    name: str
    contestants: tuple[str, ...]
    steps: tuple[Step, ...]


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """How large the scenarios are."""

    few: int = 100
    many: int = 1000
    wide: tuple[int, int] = (4, 500)
    large_job: int = 2000
    recovering: int = 100
    load: int = 200
    fleet: int = 2000
    idle_seconds: float = 60.0
    foreign: int = 20_000


FULL: Final = Sizes()
QUICK: Final = Sizes(
    few=10,
    many=40,
    wide=(2, 30),
    large_job=40,
    recovering=10,
    load=20,
    fleet=20,
    idle_seconds=3.0,
    foreign=200,
)
LARGE: Final = "large"
"""The only course that is run on demand."""
_BOTH: Final = (PEER, OURS)
_ALL: Final = (PEER_DEFAULT, PEER, OURS)


def courses(sizes: Sizes, *, large: bool) -> list[Course]:
    found = [
        _many("few", sizes.few, _ALL),
        _many("many", sizes.many, _BOTH),
        Course("raw", (RAW,), (_floor(), _raw(sizes.many))),
        Course("wide", _BOTH, (_wide(*sizes.wide),)),
        Course("behind", _ALL, (_behind(sizes.large_job),)),
        Course("recovery", _BOTH, (_recovery(sizes.recovering, sizes.load),)),
        Course("fleet", _BOTH, _fleet(sizes)),
        Course("foreign", _BOTH, (_foreign(sizes.foreign),)),
    ]
    return [*found, _many(LARGE, 5000, _BOTH, spread=5)] if large else found


def titles(programme: Iterable[Course]) -> dict[str, str]:
    """What each scenario is called, which tells its size."""
    return {step.name: step.title for course in programme for step in course.steps}


def _many(name: str, jobs: int, contestants: tuple[str, ...], *, spread: int = 1) -> Course:
    """Spread, for the controller manager compares each pod with each service of its namespace."""
    title = f"{jobs:,} jobs of {many.REPLICAS} replicas"
    if spread > 1:
        title += f" in {spread} namespaces"
    measure = partial(many.measure, jobs=jobs, spread=spread)
    return Course(name, contestants, (Step(name, title, measure),))


def _raw(jobs: int) -> Step:
    count = 2 * many.REPLICAS * jobs
    return Step("raw", f"{count:,} bare creates", partial(raw.measure, jobs=jobs))


def _floor() -> Step:
    return Step("floor", "a job and a pod, one after the other", behind.floor)


def _wide(jobs: int, replicas: int) -> Step:
    measure = partial(wide.measure, jobs=jobs, replicas=replicas)
    return Step("wide", f"{jobs} jobs of {replicas:,} replicas", measure)


def _behind(replicas: int) -> Step:
    title = f"one pod behind a job of {replicas:,}"
    return Step("behind", title, partial(behind.measure, replicas=replicas))


def _recovery(jobs: int, load: int) -> Step:
    title = f"{jobs} pods fail, at rest and while {load} jobs begin"
    return Step("recovery", title, partial(recovery.measure, jobs=jobs, load=load))


def _fleet(sizes: Sizes) -> tuple[Step, ...]:
    jobs, seconds = sizes.fleet, sizes.idle_seconds
    return (
        Step("fleet", f"{jobs:,} jobs are made", partial(many.measure, jobs=jobs)),
        Step("idle", f"{jobs:,} jobs run", partial(fleet.idle, seconds=seconds)),
        Step("cold-start", f"a start over {jobs:,} running jobs", fleet.cold_start),
        Step("finish", f"{jobs:,} jobs succeed at once", partial(fleet.finish, jobs=jobs)),
        Step("delete", f"{jobs:,} jobs are deleted at once", fleet.delete),
    )


def _foreign(pods: int) -> Step:
    title = f"beside {pods:,} foreign pods"
    return Step("foreign", title, partial(foreign.measure, pods=pods))
