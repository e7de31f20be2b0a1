"""The end of a history: faults stop, everything comes to rest, and the final state is checked."""

from typing import Final

from tests.support.histories import nodes, tenants
from tests.support.histories.server import ENDED, JOBS, PODS, SERVICES, Json, Key
from tests.support.histories.truth import JobFacts, controller_of, place_of
from tests.support.histories.world import DEEP, HUGE, World
from tfjob.core.job import FINALIZER

_MOST_ROUNDS: Final = 400
_REST: Final = 4000.0
"""Seconds after which nothing may be written any more; longer than any deadline or back-off."""
_MOST_IDLE_PASSES: Final = 40
_MOMENTS: Final = 5
"""Seconds after which an operator has acted on what it was told."""


def end_well(world: World) -> list[str]:
    """Everything that is wrong when faults have ended and time has passed."""
    _stop_faults(world)
    world.truth.step += 1
    _hear_of_everything(world)
    for _ in range(_MOST_ROUNDS):
        if not _round(world):
            break
        if world.laws.broken:
            return []
    else:
        return ["no rest: something is written again and again"]
    faults = [fault for key in world.keys(JOBS) for fault in _faults_of(world, key)]
    return faults + _orphans(world) + _held(world) + _rest_is_kept(world)


def _stop_faults(world: World) -> None:
    """Clocks are right, one operator leads, tenants take back what is theirs."""
    world.server_skew, world.node_skews = 0, {}
    while world.arrive(0, 0) is not None:
        continue
    _elect_one(world)
    for node in world.server.lost_nodes:
        nodes.clean_lost(world, node)
    for key in (*world.keys(PODS), *world.keys(JOBS)):
        tenants.let_go(world, key)
    for key in (*world.keys(PODS), *world.keys(SERVICES)):
        job = world.truth.jobs.get(controller_of(world.server.objects[key]["metadata"]))
        if job is None or job.namespace != key[1]:
            world.server.delete(key, grace=0)


def _hear_of_everything(world: World) -> None:
    """The operator learns what has happened before any program goes on."""
    for _ in range(_MOMENTS):
        talk(world)
        world.loop.advance(1.0)
        world.settle()


def _elect_one(world: World) -> None:
    while len(world.operators) > 1:
        leaders = [each for each in world.operators if each.leads]
        gone = next(each for each in world.operators if each is not leaders[0])
        gone.crash()
        world.operators.remove(gone)
    for operator in world.operators:
        operator.skew *= 0
        for channel in operator.channels:
            channel.stalled_until = 0.0
        if not operator.leads:
            operator.lead()


def _round(world: World) -> bool:
    """Let everybody do what they have to do; whether anything was done or is still due."""
    is_busy = talk(world)
    for key in world.keys(PODS):
        if key in world.server.objects:
            is_busy |= _run_pod(world, key)
    while world.server.collect() is not None:
        is_busy = True
    if is_busy:
        talk(world)
    left = world.loop.next_timer()
    if left is not None and (is_busy or left <= _REST):
        world.loop.advance(min(left, 30.0) if is_busy else left)
        world.settle()
        return True
    return is_busy


def talk(world: World) -> bool:
    """Answer every request and deliver every event."""
    has_talked = False
    for _ in range(10_000):
        world.settle()
        said = world.answer(0) or world.deliver(0, 5)
        if said is None:
            return has_talked
        has_talked = True
    world.laws.broken.append("requests without end, and no time passes")
    return False


def _run_pod(world: World, key: Key) -> bool:
    """Every program ends well, but for servers and what is started again for ever."""
    pod = world.server.objects[key]
    kind = pod["metadata"]["labels"].get("training.kubeflow.org/replica-type")
    is_endless = kind == "ps" or pod["spec"].get("restartPolicy") == "Always"
    return nodes.take_step(world, key, world.last_code, is_ending=not is_endless) is not None


def _faults_of(world: World, key: Key) -> list[str]:
    if key[2] == DEEP:
        return []
    uid = world.server.objects[key]["metadata"]["uid"]
    job = world.truth.jobs[uid]
    if key[2] == HUGE:
        return [] if job.verdict == "Failed" else [f"{HUGE} is not refused"]
    pods = [
        each
        for each in world.server.listed(PODS)
        if controller_of(each["metadata"]) == uid and each["metadata"]["namespace"] == key[1]
    ]
    title = f"{key[1]}/{key[2]}"
    if job.verdict:
        return _faults_of_finished(job, pods, title)
    if job.is_suspended:
        found = [f"{title} is suspended and has pods"] if pods else []
        if not job.status.is_true("Suspended"):
            found.append(f"{title} is suspended and does not say so")
        return found
    return _faults_of_unfinished(job, pods, title)


def _faults_of_finished(job: JobFacts, pods: list[Json], title: str) -> list[str]:
    policy = job.run_policy.get("cleanPodPolicy", "None")
    if "ttlSecondsAfterFinished" in job.run_policy:
        return [f"{title} has outlived its time to live"]
    if policy == "All" and pods:
        return [f"{title} has ended and has pods"]
    alive = [each for each in pods if each["status"].get("phase") not in ENDED]
    if policy == "Running" and alive:
        return [f"{title} has ended and has running pods"]
    return []


def _faults_of_unfinished(job: JobFacts, pods: list[Json], title: str) -> list[str]:
    """Only a job whose programs are started again for ever may go on."""
    if any(job.policy_of(kind) != "Always" for kind, _ in job.deciders):
        return [f"{title} never ends: {[each.type for each in job.status.conditions]}"]
    wanted = {
        (kind.lower(), index)
        for kind, each in job.replicas.items()
        for index in range(each["replicas"])
    }
    missing = wanted - set(job.completed_at) - {place_of(each["metadata"]) for each in pods}
    return [f"{title} does not run {sorted(missing)}"] if missing else []


def _orphans(world: World) -> list[str]:
    found = []
    for each in world.server.listed(PODS):
        job = world.truth.jobs.get(controller_of(each["metadata"]))
        if job is not None and job.gone_at:
            found.append(f"pod {each['metadata']['name']} outlives its job")
    return found


def _held(world: World) -> list[str]:
    """No pod waits for the operator's finalizer, and no finished job keeps one."""
    found = []
    for each in world.server.listed(PODS):
        meta = each["metadata"]
        if FINALIZER not in meta.get("finalizers", ()):
            continue
        job = world.truth.jobs.get(controller_of(meta))
        if "deletionTimestamp" in meta or not world.holds_results or (job and job.verdict):
            found.append(f"pod {meta['name']} is kept by the operator's finalizer")
    return found


def _rest_is_kept(world: World) -> list[str]:
    """Nothing is written once everything is at rest, also after a resync; and nobody is busy."""
    operator = world.operators[0]
    before = operator.api.writes, world.server.version
    passes = operator.watched.passes
    operator.resync()
    talk(world)
    world.loop.advance(_REST)
    talk(world)
    after = operator.api.writes, world.server.version
    found = []
    if before != after:
        found.append(
            f"no rest: {after[0] - before[0]} requests that write although nothing changed"
        )
    if operator.watched.passes - passes > _MOST_IDLE_PASSES:
        found.append(f"no rest: {operator.watched.passes - passes} reconciles without a reason")
    return found
