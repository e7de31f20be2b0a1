"""Warnings about valid jobs that are likely to be rejected, to fail or to hang.

Each names the replica type, the consequence and what to write instead.
"""

from collections.abc import Iterator

from tfjob.core.job import Job, Recovery, ReplicaType, RestartPolicy
from tfjob.dialects import legacy_gpu
from tfjob.dialects.job_annotations import RECOVERY

GROUP = (
    f"Replicas that train together can be restarted together, as soon as one is lost: set the"
    f" annotation {RECOVERY}: {Recovery.GROUP}."
)
NOTHING_RUNS = "every replica type has 0 replicas, so nothing will ever run"


def advice(job: Job) -> list[str]:
    roles = {replica.task: replica for replica in job.replicas if replica.count}
    on_templates = [
        each
        for replica in roles.values()
        for each in (*_on_policy(replica), *_on_variables(replica), *_on_legacy_gpu(replica))
    ]
    on_roles = [*_on_master(job, roles), *_on_servers(job, roles), *_on_exit_code(job, roles)]
    return [*_on_emptiness(job), *on_roles, *on_templates]


def _on_emptiness(job: Job) -> Iterator[str]:
    if job.total == 0:
        yield f"{NOTHING_RUNS}; set replicas of one type to 1 or more"


def _on_master(job: Job, roles: dict[str, ReplicaType]) -> Iterator[str]:
    if "master" in roles and job.total > 1:
        yield (
            f"{roles['master'].type}: TensorFlow 2 strategies reject the task type `master` in a"
            f" distributed job; {job.messages.master_advice}"
        )


def _on_servers(job: Job, roles: dict[str, ReplicaType]) -> Iterator[str]:
    servers = roles.get("ps")
    if servers is None:
        return
    if not roles.keys() & {"chief", "master"}:
        yield (
            f"{servers.type}: ParameterServerStrategy needs a coordinator and this job has none;"
            f" {job.messages.coordinator_advice}, or train with a strategy that needs no parameter"
            " servers"
        )
    if servers.restart is RestartPolicy.NEVER:
        harm = (
            "hangs the job"
            if job.semantics.only_decisive_replica_fails_job
            else "fails the whole job"
        )
        yield (
            f"{servers.type}: with restartPolicy Never one lost parameter server {harm};"
            " OnFailure or ExitCode restarts it"
        )


def _on_exit_code(job: Job, roles: dict[str, ReplicaType]) -> Iterator[str]:
    workers, mode = roles.get("worker"), job.semantics.recovery
    if workers is None or workers.restart is not RestartPolicy.EXIT_CODE or "ps" in roles:
        return
    if workers.count + ("chief" in roles) < 2 or mode is Recovery.GROUP:
        return
    lost = (
        f"{workers.type}: when one of several workers is lost, MultiWorkerMirroredStrategy ends the"
        " others with exit code 1"
    )
    if mode is Recovery.REPLICA:
        yield f"{lost}, which ExitCode treats as a permanent failure; OnFailure restarts them all"
    else:
        yield (
            f"{lost}; if they train together, the annotation {RECOVERY}: {Recovery.GROUP} restarts"
            " them as soon as one is lost"
        )


def _on_policy(replica: ReplicaType) -> Iterator[str]:
    given = (replica.template.get("spec") or {}).get("restartPolicy")
    if given and given != replica.pod_restart_policy:
        yield (
            f"{replica.type}: template.spec.restartPolicy is {given} and has no effect: the"
            f" pods get {replica.pod_restart_policy}; set restartPolicy beside replicas instead"
        )


def _on_variables(replica: ReplicaType) -> Iterator[str]:
    spec = replica.template.get("spec") or {}
    for place, container in enumerate(spec.get("containers") or ()):
        for index, each in enumerate(container.get("env") or ()):
            if each.get("value") is None and each.get("valueFrom") is None:
                yield (
                    f"{replica.type}: template.spec.containers[{place}].env[{index}] has no value,"
                    f" so {each.get('name')} is empty; add value or valueFrom"
                )


def _on_legacy_gpu(replica: ReplicaType) -> Iterator[str]:
    for path in legacy_gpu.requests_in(replica.template):
        yield f"{replica.type}: {legacy_gpu.warning(path, outcome='the pods stay Pending')}"
