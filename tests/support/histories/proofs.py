"""Proofs by counting: histories that ask one question again and again, and count the answers.

Each proof has jobs and weights of its own and runs histories, one per seed, until it has counted
enough. All faults of the other histories happen here too, but for those that would change what the
right answer is.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from tests.support.histories import history, nodes
from tests.support.histories.history import Weights
from tests.support.histories.lost_peer import lose_peer, runs
from tests.support.histories.server import JOBS, PODS, Json, Key
from tests.support.histories.truth import JobFacts, place_of
from tests.support.histories.world import Action, World
from tests.support.tfjobs import tfjob
from tfjob.dialects.job_annotations import RECOVERY

_POLICIES: Final = ("ExitCode", "OnFailure", "Never")
_NAME: Final = "j"
_KEY: Final = (JOBS, "a", _NAME)


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """`count` is how many cases a history had, `faults` what was wrong at its end."""

    name: str
    claim: str
    steps: int
    creates: Action
    weights: Weights
    codes: Sequence[int] = (0,)
    last_code: int = 0
    count: Callable[[World], int] = lambda world: len(world.cases)
    faults: Callable[[World], list[str]]


class Tally(msgspec.Struct, frozen=True):
    """What one history of a proof came to."""

    cases: int
    broken: list[str]


def tally(proof: Proof, seed: int) -> Tally:
    """Live through one history."""
    world = World()
    world.codes, world.last_code = proof.codes, proof.last_code
    weights = (*proof.weights, (proof.creates, 1))
    steps = history.steps_of(seed, proof.steps, weights=weights, creates=proof.creates)
    found = history.run_in(world, steps, weights=weights)
    return Tally(proof.count(world), found.broken or proof.faults(world))


def _disturbing(action: Action) -> Action:
    def disturb(world: World, which: int, how: int) -> str | None:
        said = action(world, which, how)
        if said is not None:
            world.disturbances += 1
        return said

    return disturb


def faulty(*own: tuple[Action, int]) -> Weights:
    """Everything that goes wrong between an operator and its server, and what a proof adds."""
    return (
        (World.answer_well, 300),
        (World.deliver, 300),
        (nodes.kubelet, 260),
        (World.wait, 60),
        (_disturbing(World.answer_with_fault), 90),
        (World.relist, 15),
        (World.stall, 10),
        (World.collect, 10),
        (_disturbing(World.crash), 30),
        (_disturbing(World.lose_lease), 30),
        (World.skew, 10),
        (World.annotate, 10),
        *own,
    )


# A success that is stored is never run again, whatever happens to its pod.


def _all_must_succeed(world: World, which: int, how: int) -> str | None:
    roles = ("W2", "W3", "W4", "C1 W2", "P1 W3")[which % 5]
    job = tfjob(roles, name=_NAME, restart=_POLICIES[how % 3], successPolicy="AllWorkers")
    return _submit(world, job)


def _delete_succeeded(world: World, which: int, _: int) -> str | None:
    """A user deletes a pod whose success is stored."""
    found = [key for key in world.keys(PODS) if _is_stored_success(world, key)]
    if not found:
        return None
    key = found[which % len(found)]
    place = place_of(world.server.objects[key]["metadata"])
    assert place is not None
    world.cases.append((world.truth.step, place))
    world.server.delete(key)
    return f"a user deletes pod {key[2]}, whose success is stored"


def _is_stored_success(world: World, key: Key) -> bool:
    meta = world.server.objects[key]["metadata"]
    place, facts = place_of(meta), world.truth.pods[meta["uid"]]
    job = world.truth.jobs.get(facts.owner)
    return job is not None and facts.has_succeeded and place in job.completed_at


def _runs_again(world: World) -> list[str]:
    return [
        f"{pod.name} was made again although its success was stored"
        for step, place in world.cases
        for pod in world.truth.pods.values()
        if pod.place == place and pod.made_at > step
    ] + _ended_as(world, "Succeeded")


# backoffLimit is exact.


def _always_failing(world: World, which: int, how: int) -> str | None:
    roles = ("W1", "W1", "W2", "C1 W1")[which % 4]
    policy = {"backoffLimit": how % 5, "cleanPodPolicy": ("None", "All", "Running")[which // 4 % 3]}
    return _submit(world, tfjob(roles, name=_NAME, restart="ExitCode", run_policy=policy))


def _is_disturbed(world: World) -> int:
    """One interleaving, if an operator died, lost the lease or got an error in it."""
    return int(world.disturbances > 0)


def _is_inexact(world: World) -> list[str]:
    job = _only_job(world)
    limit = job.run_policy["backoffLimit"]
    replicas = sum(each["replicas"] for each in job.replicas.values())
    made = len(world.truth.pods_of(job))
    found = _ended_as(world, "Failed")
    if job.status.restarts != limit:
        found.append(f"{job.status.restarts} restarts are counted, the limit is {limit}")
    if made > replicas + limit or (replicas == 1 and made != 1 + limit):
        found.append(f"{made} pods were made for {replicas} replicas and a limit of {limit}")
    return found


# A job that is suspended and resumed again and again ends as it was asked to.


def _suspendable(world: World, which: int, how: int) -> str | None:
    roles = ("W1", "W2", "W3", "C1 W2", "P1 W2")[which % 5]
    policy = {"suspend": which // 5 % 2 == 0}
    job = tfjob(roles, name=_NAME, restart=_POLICIES[how % 3], run_policy=policy)
    return _submit(world, job)


def _run_on(world: World, which: int, how: int) -> str | None:
    """A kubelet takes the next step with a pod, and no program ends by itself."""
    key = world.pick(PODS, which)
    return None if key is None else nodes.take_step(world, key, how % 5, is_ending=False)


def _flip(world: World, which: int, how: int) -> str | None:
    said = world.suspend(which, how)
    if said is not None:
        world.cases.append((world.truth.step, None))
    return said


def _is_not_as_asked(world: World) -> list[str]:
    job = _only_job(world)
    if not job.is_suspended:
        return _ended_as(world, "Succeeded")
    return [f"the job ended as {job.verdict} while suspended"] if job.verdict else []


# Two leaders, whose caches are of different ages, count nothing twice.


def _restarting(world: World, which: int, how: int) -> str | None:
    roles = ("W1", "W2", "C1 W1", "P1 W1")[which % 4]
    policy = {"suspend": False}
    job = tfjob(roles, name=_NAME, restart=_POLICIES[how % 2], run_policy=policy)
    return _submit(world, job)


def _counted_by_two(world: World) -> int:
    """The restarts of a job that two operators have led."""
    return _only_job(world).status.restarts if world.laws.overlaps else 0


def _no_more_than_laws(_: World) -> list[str]:
    return []


# A group of which a replica is lost is restarted as a whole.


def _group(world: World, which: int, _: int) -> str | None:
    roles = ("W2", "W3", "C1 W2", "W4")[which % 4]
    job = tfjob(roles, name=_NAME, restart="ExitCode")
    job["metadata"]["annotations"] = {RECOVERY: "Group"}
    return _submit(world, job)


def _lose_one(world: World, which: int, _: int) -> str | None:
    """One replica is killed while others run; each of those is a case."""
    running = [key for key in world.keys(PODS) if runs(key, world.server.objects[key])]
    said = lose_peer(world, which, 0)
    if said is not None:
        left = [key for key in running if runs(key, world.server.objects[key])]
        places = [place_of(world.server.objects[key]["metadata"]) for key in left]
        world.cases.extend((world.truth.step, place) for place in places)
    return said


def _is_in_pieces(world: World) -> list[str]:
    return [
        f"{pod.name} goes on although a replica of its group was lost at step {step}"
        for step, place in world.cases
        for pod in world.truth.pods.values()
        if pod.place == place and pod.made_at <= step and pod.has_succeeded
    ] + _ended_as(world, "Succeeded")


def _submit(world: World, job: Json) -> str | None:
    if _KEY in world.server.objects or world.truth.jobs:
        return None
    world.server.create(JOBS, _KEY[1], job)
    return f"a user creates job {job['spec']}"


def _only_job(world: World) -> JobFacts:
    [job] = world.truth.jobs.values()
    return job


def _ended_as(world: World, verdict: str) -> list[str]:
    job = _only_job(world)
    return [] if job.verdict == verdict else [f"the job ended as {job.verdict!r}, not {verdict}"]


PROOFS: Final = {
    each.name: each
    for each in (
        Proof(
            name="deletions",
            claim="deletions of pods whose success is stored; none of these replicas runs again",
            steps=200,
            creates=_all_must_succeed,
            weights=faulty((_delete_succeeded, 200)),
            faults=_runs_again,
        ),
        Proof(
            name="backoff",
            claim="interleavings with crashes, errors and lost leases; backoffLimit is exact",
            steps=200,
            creates=_always_failing,
            weights=faulty(),
            codes=(137,),
            last_code=137,
            count=_is_disturbed,
            faults=_is_inexact,
        ),
        Proof(
            name="suspend",
            claim="suspensions and resumptions; each job ends as asked, and leaves no orphan",
            steps=200,
            creates=_suspendable,
            weights=tuple(
                (_run_on if action is nodes.kubelet else action, weight)
                for action, weight in faulty((_flip, 60))
            ),
            faults=_is_not_as_asked,
        ),
        Proof(
            name="leaders",
            claim="restarts counted by two leaders with caches of different ages; each pod once",
            steps=300,
            creates=_restarting,
            weights=faulty(
                (World.late_leader, 40), (World.hand_over, 20), (World.stall, 60), (_flip, 30)
            ),
            codes=(137, 137, 137, 0),
            count=_counted_by_two,
            faults=_no_more_than_laws,
        ),
        Proof(
            name="groups",
            claim="replicas beside one of their group that is lost; each is restarted with it",
            steps=200,
            creates=_group,
            weights=tuple(
                (_run_on if action is nodes.kubelet else action, weight)
                for action, weight in faulty((_lose_one, 40))
            ),
            faults=_is_in_pieces,
        ),
    )
}
