"""The benchmark suite: which contestants run which scenarios, and at which size.

A session runs its steps on one control plane; each step is one scenario.
"""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final

import msgspec

from benchmarks.bench_env import BenchEnv, Measured
from benchmarks.contestants import GO_DEFAULT, GO_TUNED, RAW, TFJOB
from benchmarks.scenarios import behind, fleet, foreign, many, raw, recovery, wide


class Step(msgspec.Struct, frozen=True):
    """One scenario at one size."""

    name: str
    title: str
    measure: Callable[[BenchEnv], Awaitable[Measured]]


class Session(msgspec.Struct, frozen=True):
    name: str
    contestants: tuple[str, ...]
    steps: tuple[Step, ...]


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """The sizes of the scenarios."""

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
"""The only session that runs on request."""
_BOTH: Final = (GO_TUNED, TFJOB)
_ALL: Final = (GO_DEFAULT, GO_TUNED, TFJOB)


def sessions(sizes: Sizes, *, large: bool) -> list[Session]:
    found = [
        _many("few", sizes.few, _ALL),
        _many("many", sizes.many, _BOTH),
        Session("raw", (RAW,), (_floor(), _raw(sizes.many))),
        Session("wide", _BOTH, (_wide(*sizes.wide),)),
        Session("behind", _ALL, (_behind(sizes.large_job),)),
        Session("recovery", _BOTH, (_recovery(sizes.recovering, sizes.load),)),
        Session("fleet", _BOTH, _fleet(sizes)),
        Session("foreign", _BOTH, (_foreign(sizes.foreign),)),
    ]
    return [*found, _many(LARGE, 5000, _BOTH, spread=5)] if large else found


def titles(planned: Iterable[Session]) -> dict[str, str]:
    """The title of each scenario, which includes its size."""
    return {step.name: step.title for session in planned for step in session.steps}


def _many(name: str, jobs: int, contestants: tuple[str, ...], *, spread: int = 1) -> Session:
    """Many jobs, in several namespaces if they are very many: the controller manager compares
    each pod with each service of its namespace."""
    title = f"{jobs:,} jobs of {many.REPLICAS} replicas"
    if spread > 1:
        title += f" in {spread} namespaces"
    measure = partial(many.measure, jobs=jobs, spread=spread)
    return Session(name, contestants, (Step(name, title, measure),))


def _raw(jobs: int) -> Step:
    title = f"{jobs:,} jobs, their first statuses and children written without an operator"
    return Step("raw", title, partial(raw.measure, jobs=jobs))


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
