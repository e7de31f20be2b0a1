"""Converts TensorFlowTrainingJobs to and from the hub, `kubeflow.org/v1`.

What the target cannot express is reported as a loss, with what happens instead. The input must be
without faults.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tfjob.dialects.base import NOTHING_BEYOND, BeyondHub, Conversion, Manifest
from tfjob.dialects.conversion_base import (
    HUB,
    HUB_MANAGER,
    Fields,
    HubJob,
    HubReplica,
    Losses,
    Taken,
    as_kind,
    hub_manifest,
    hub_path,
    hub_port,
    with_hub_port,
)
from tfjob.dialects.tensorstack.api import API_VERSION, KIND, PORT
from tfjob.dialects.tensorstack.tensorboard_spec import take_tensorboard, tensorboard_of

_TO_HUB = {"chief": "Chief", "worker": "Worker", "ps": "PS", "evaluator": "Evaluator"}
_FROM_HUB = {kind: word for word, kind in _TO_HUB.items()} | {"Master": "chief"}
_CLEAN_TO_HUB = {"none": "None", "all": "All", "unfinished": "Running"}
_CLEAN_FROM_HUB = {"None": "None", "All": "All", "Running": "Unfinished"}
_CODES = "130, 137, 138 and 143"
_LIMIT = "backoffLimit"
_DEADLINE = "activeDeadlineSeconds"


class _Entry(msgspec.Struct, frozen=True):
    """One entry of replicaSpecs, with its defaults."""

    path: str
    type: str
    count: Taken
    policy: Taken
    template: Taken

    @property
    def size(self) -> int:
        return 1 if self.count.value is None else int(self.count.value)

    @property
    def is_recreated(self) -> bool:
        return self.policy.value not in {None, "Never"}


def to_hub(manifest: Manifest, *, target: str = "") -> Conversion:
    losses = Losses(target or HUB)
    spec = Fields(manifest.get("spec"), "spec")
    entries = list(_entries(spec))
    master = _master({entry.type for entry in entries})
    specs = {_TO_HUB[each.type]: _hub_replica(each, master, losses) for each in entries}
    origins = {hub_path(_TO_HUB[each.type]): each.path for each in entries}
    policy = _hub_policy(spec, losses, origins)
    board = take_tensorboard(spec, losses)
    losses.drop_unconverted(spec)
    found = hub_manifest(manifest, {"runPolicy": policy, "tfReplicaSpecs": specs})
    beyond = BeyondHub(
        log_folders=[] if board is None else board.sources,
        tensorboard_image="" if board is None else board.image,
        recreated=frozenset(_TO_HUB[each.type] for each in entries if each.is_recreated),
        retryable_codes=_CODES,
    )
    return Conversion(found, losses.found, origins, beyond)


def _entries(spec: Fields) -> Iterator[_Entry]:
    path, given = spec.take("replicaSpecs")
    for place, each in enumerate(given):
        fields = spec.enter_item(each, f"{path}[{place}]")
        yield _Entry(
            path=fields.path,
            type=fields.take("type").value,
            count=fields.take("replicas"),
            policy=fields.take("restartPolicy"),
            template=fields.take("template"),
        )


def _master(types: set[str]) -> str:
    return "chief" if "chief" in types else "worker"


def _hub_replica(entry: _Entry, master: str, losses: Losses) -> dict[str, Any]:
    found: dict[str, Any] = {} if entry.count.value is None else {"replicas": entry.count.value}
    is_master = entry.type == master
    _note_hub_restarts(entry, losses, is_master=is_master)
    policy = entry.policy.value
    if policy is not None:
        found["restartPolicy"] = "OnFailure" if is_master and policy == "Always" else policy
    named = hub_port(entry.template.value)
    if named is not None and named.value != PORT:
        losses.note(
            f"{entry.path}.{named.path}",
            f"the port of this name is the replica's address; its number becomes {PORT}",
        )
    return {**found, "template": with_hub_port(entry.template.value, PORT)}


def _note_hub_restarts(entry: _Entry, losses: Losses, *, is_master: bool) -> None:
    """What the hub does differently. Another target compares itself with this."""
    path, policy, api = entry.policy.path, entry.policy.value or "Never", losses.target
    if not losses.is_for_hub:
        return
    if policy in {"OnFailure", "Always"}:
        losses.note(path, f"under {policy}, {api} restarts in place instead of with a new pod")
    if policy == "Always" and is_master:
        losses.note(
            path,
            f"in {api} a replica under Always never ends, so the job would never end;"
            " it becomes OnFailure",
        )
    if policy == "ExitCode":
        losses.note(
            path,
            f"{api} retries every exit code from 129 except 139, not only {_CODES}",
        )
    if policy in {"Never", "ExitCode"} and entry.size > is_master:
        losses.note(
            path,
            f"in {api} any {_TO_HUB[entry.type]} that fails permanently fails the job, not only the"
            " replica that decides",
        )


def _hub_policy(spec: Fields, losses: Losses, origins: dict[str, str]) -> dict[str, Any]:
    given = spec.enter("runPolicy")
    found: dict[str, Any] = {}
    clean = given.take("cleanUpPolicy", "cleanPodPolicy")
    if clean.value:
        found["cleanPodPolicy"] = _CLEAN_TO_HUB[clean.value.lower()]
        origins["spec.runPolicy.cleanPodPolicy"] = clean.path
    limit = given.take(_LIMIT)
    if limit.value is not None:
        found[_LIMIT] = limit.value
        if losses.is_for_hub:
            losses.note(
                limit.path,
                f"{losses.target} also counts restarts in place, and fails the job when the limit"
                " is reached",
            )
    deadline = given.take(_DEADLINE)
    if deadline.value is not None:
        found[_DEADLINE] = deadline.value
    found |= _hub_mode(spec, losses, origins)
    return found | _hub_scheduling(spec, losses, origins)


def _hub_mode(spec: Fields, losses: Losses, origins: dict[str, str]) -> dict[str, Any]:
    mode = spec.enter("runMode")
    pause = mode.enter("pause")
    enabled = pause.take("enabled", "enable")
    losses.drop(
        pause.take("resumeSpecs"),
        same=([],),
        instead="pods start after a pause with the same command as before",
    )
    debug = mode.enter("debug")
    losses.drop(
        debug.take("enabled", "enable"), same=(False,), instead="the replicas start training"
    )
    losses.drop(debug.take("replicaSpecs"), same=([],), instead="there is no debug mode")
    if not enabled.value:
        return {}
    origins["spec.runPolicy.suspend"] = enabled.path
    return {"suspend": True}


def _hub_scheduling(spec: Fields, losses: Losses, origins: dict[str, str]) -> dict[str, Any]:
    given = spec.enter("scheduler").enter("t9kScheduler")
    queue = given.take("queue")
    losses.drop(
        given.take("priority"), same=(0,), instead="all jobs of a queue have the same priority"
    )
    if queue.value is None:
        return {}
    origins["spec.runPolicy.schedulingPolicy"] = given.path
    return {"schedulingPolicy": {"queue": queue.value}}


def from_hub(manifest: Manifest, beyond: BeyondHub = NOTHING_BEYOND) -> Conversion:
    job, losses = HubJob(manifest), Losses(API_VERSION)
    kept = [each for each in job.replicas if _is_convertible(each, losses)]
    specs = []
    for each in kept:
        is_master, is_recreated = each is job.decisive_replica, each.type in beyond.recreated
        _note_own_restarts(each, losses, is_master=is_master, is_recreated=is_recreated)
        specs.append(_own_replica(each, losses))
    if job.decisive_replica is None or job.decisive_replica.type == "PS":
        why = f"{API_VERSION} rejects a job without a chief or a worker"
        losses.note("spec.tfReplicaSpecs", why)
    spec: dict[str, Any] = {}
    policy = _own_policy(job.policy, losses)
    if policy:
        spec["runPolicy"] = policy
    scheduler = _own_scheduler(job, losses)
    if scheduler:
        spec["scheduler"] = {"t9kScheduler": scheduler}
    if job.policy.take("suspend").value:
        spec["runMode"] = {"pause": {"enabled": True}}
    spec["replicaSpecs"] = specs
    if beyond.log_folders:
        spec["tensorboardSpec"] = tensorboard_of(beyond)
    _drop_unsupported(job, losses)
    found = as_kind(job.metadata, api_version=API_VERSION, kind=KIND, spec=spec)
    return Conversion(found, losses.found)


def _is_convertible(replica: HubReplica, losses: Losses) -> bool:
    if _FROM_HUB[replica.type] == "chief" and not replica.count:
        losses.note(replica.path, f"{API_VERSION} allows 1 chief or none; it is left out")
        return False
    if replica.type == "Master":
        losses.note(
            replica.path,
            f"{API_VERSION} has no Master; it becomes chief, with task type chief in TF_CONFIG",
        )
    return True


def _own_replica(replica: HubReplica, losses: Losses) -> dict[str, Any]:
    found: dict[str, Any] = {"type": _FROM_HUB[replica.type], **replica.fields}
    if replica.restart.value is not None:
        found["restartPolicy"] = replica.restart.value
    port = hub_port(replica.template)
    if port is not None and port.value != PORT:
        losses.note(
            f"{replica.path}.{port.path}",
            f"{API_VERSION} always uses port {PORT} in TF_CONFIG, whatever the container declares",
        )
    return {**found, "template": replica.template}


def _note_own_restarts(
    replica: HubReplica, losses: Losses, *, is_master: bool, is_recreated: bool
) -> None:
    path, policy = replica.restart.path, replica.restart.value or "Never"
    if policy in {"OnFailure", "Always"} and not is_recreated:
        losses.note(
            path, f"under {policy}, {API_VERSION} restarts with a new pod instead of in place"
        )
    if policy == "Always" and is_master:
        losses.note(path, f"in {API_VERSION} the success of this replica ends the job")
    if policy == "ExitCode":
        losses.note(
            path,
            f"{API_VERSION} retries only the exit codes {_CODES}",
        )
    if policy in {"Never", "ExitCode"} and replica.count > is_master:
        losses.note(
            path,
            f"in {API_VERSION} only the chief, or worker 0 if there is none, can fail the job; the"
            f" permanent failure of any other {_FROM_HUB[replica.type]} is tolerated",
        )


def _own_policy(policy: Fields, losses: Losses) -> dict[str, Any]:
    found: dict[str, Any] = {}
    clean = policy.take("cleanPodPolicy").value
    if clean:
        found["cleanUpPolicy"] = _CLEAN_FROM_HUB[clean]
    limit = policy.take(_LIMIT)
    if limit.value is not None:
        found[_LIMIT] = limit.value
        losses.note(
            limit.path,
            f"{API_VERSION} counts only new pods, and stops restarting when the limit is reached"
            " instead of failing the job",
        )
    deadline = policy.take(_DEADLINE)
    if deadline.value is not None:
        found[_DEADLINE] = max(deadline.value, 1)
        if deadline.value < 1:
            losses.note(deadline.path, f"{API_VERSION} requires at least 1 second; it becomes 1")
    return found


def _own_scheduler(job: HubJob, losses: Losses) -> Mapping[str, Any]:
    given = job.policy.enter("schedulingPolicy")
    queue = given.take("queue")
    losses.drop(
        given.take("minAvailable"),
        same=(job.total,) if queue.value else (),
        instead="all pods are scheduled together with a queue, and one by one without",
    )
    if not queue.value:
        return {}
    return {"queue": queue.value}


def _drop_unsupported(job: HubJob, losses: Losses) -> None:
    losses.drop(
        job.policy.take("ttlSecondsAfterFinished"),
        same=(),
        instead="a finished job is not deleted automatically",
    )
    losses.drop(
        job.policy.take("managedBy"),
        same=(HUB_MANAGER,),
        instead="this operator runs the job",
    )
    losses.drop(
        job.spec.take("successPolicy"),
        same=("",),
        instead="the success of one replica ends the job",
    )
    losses.drop(
        job.spec.take("enableDynamicWorker"),
        same=(False,),
        instead="every TF_CONFIG lists all replicas",
    )
    losses.drop_unconverted(job.spec)
