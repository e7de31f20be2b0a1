"""Converts TfJobs to and from the hub, `kubeflow.org/v1`.

What the target cannot express is reported as a loss, with what happens instead. The input must be
without faults.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tfjob.core.job import TRAINING_CONTAINER
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
    objects,
    training_index,
    with_container,
    with_hub_port,
)
from tfjob.dialects.tensorflow import default_parameter_server
from tfjob.dialects.tensorflow.api import API_VERSION, IMAGE, KIND, MASTER, PORT, PS, WORKER
from tfjob.dialects.tensorflow.tensorboard_conversion import take_log_folders, tensorboard_of

_TO_HUB = {MASTER: "Master", WORKER: "Worker", PS: "PS"}
_FROM_HUB = {"Master": MASTER, "Chief": MASTER, "Worker": WORKER, "PS": PS}
_SERVER = (
    "import json, os, tensorflow as tf;"
    " config = json.loads(os.environ['TF_CONFIG']); task = config['task'];"
    " home = tf.distribute if hasattr(getattr(tf, 'distribute', None), 'Server') else tf.train;"
    " cluster = tf.train.ClusterSpec(config['cluster']);"
    " home.Server(cluster, job_name=task['type'], task_index=task['index']).join()"
)
"""A parameter server as one line of Python, for TensorFlow 1 and 2."""
_DROPPED_POLICIES: Mapping[str, tuple[tuple[object, ...], str]] = {
    "cleanPodPolicy": (("None",), "pods stay until the job is deleted"),
    "ttlSecondsAfterFinished": ((), "a finished job is not deleted automatically"),
    "activeDeadlineSeconds": ((), "the job has no deadline"),
    "backoffLimit": ((), "restarts are not limited"),
    "suspend": ((False,), "the job starts immediately"),
    "schedulingPolicy": (({},), "pods are scheduled one by one"),
    "managedBy": ((HUB_MANAGER,), "this operator runs the job"),
}
"""Fields to drop: the values that equal absence, and what happens without the field."""


class _Chief(msgspec.Struct, frozen=True):
    path: str
    type: str
    index: int


class _Entry(msgspec.Struct, frozen=True):
    """One entry of replicaSpecs, with its defaults."""

    path: str
    type: str
    count: Taken
    port: Taken
    template: Taken
    has_default_server: bool

    @property
    def size(self) -> int:
        return 1 if self.count.value is None else int(self.count.value)

    @property
    def policy(self) -> Taken:
        spec = (self.template.value or {}).get("spec") or {}
        return Taken(f"{self.template.path}.spec.restartPolicy", spec.get("restartPolicy"))


def to_hub(manifest: Manifest, *, target: str = "") -> Conversion:
    losses = Losses(target or HUB)
    spec = Fields(manifest.get("spec"), "spec", folds_case=True)
    entries = list(_entries(spec, losses))
    chief = _chief(spec)
    _check_chief(chief, entries, losses)
    image = spec.take("tfImage")
    specs, origins = {}, {}
    for entry in entries:
        kind = _TO_HUB[entry.type]
        origins[hub_path(kind)] = entry.path
        origins[f"{hub_path(kind)}.restartPolicy"] = entry.policy.path
        specs[kind] = _hub_replica(entry, chief, str(image.value or IMAGE), losses)
        port = hub_port(specs[kind]["template"])
        if port is not None and entry.port.value is not None:
            origins[f"{hub_path(kind)}.{port.path}"] = entry.port.path
    folders = take_log_folders(spec, losses)
    uses_image = bool(folders) or any(each.has_default_server for each in entries)
    _drop_extras(spec, image, losses, uses_image=uses_image)
    beyond = BeyondHub(
        log_folders=folders,
        tensorboard_image=str(image.value or IMAGE) if folders else "",
        recreated=frozenset(
            _TO_HUB[entry.type]
            for entry in entries
            if entry.type != chief.type and entry.policy.value == "Never"
        ),
    )
    found = hub_manifest(manifest, {"tfReplicaSpecs": specs})
    return Conversion(found, losses.found, origins, beyond)


def _entries(spec: Fields, losses: Losses) -> Iterator[_Entry]:
    path, given = spec.take("replicaSpecs", "replica_specs")
    for place, each in enumerate(given):
        fields = spec.enter_item(each, f"{path}[{place}]")
        kind = fields.take("tfReplicaType").value or MASTER
        template = fields.take("template")
        has_default_server = kind == PS and default_parameter_server.is_default(template.value)
        losses.drop(
            fields.take("IsDefaultPS"), same=(has_default_server,), instead="it has no effect"
        )
        yield _Entry(
            path=fields.path,
            type=kind,
            count=fields.take("replicas"),
            port=fields.take("tfPort"),
            template=template,
            has_default_server=has_default_server,
        )


def _chief(spec: Fields) -> _Chief:
    chief = spec.enter("terminationPolicy").enter("chief")
    kind, index = chief.take("replicaName").value, chief.take("replicaIndex").value
    return _Chief(chief.path, kind or MASTER, index or 0)


def _check_chief(chief: _Chief, entries: list[_Entry], losses: Losses) -> None:
    sizes = {entry.type: entry.size for entry in entries if entry.size}
    decisive_replica = next(kind for kind in (MASTER, WORKER, PS) if kind in sizes)
    is_alone = decisive_replica != PS or sizes[PS] == 1
    if (chief.type, chief.index) != (decisive_replica, 0) or not is_alone:
        who = (
            f"the success of {_TO_HUB[decisive_replica]} 0"
            if decisive_replica != PS
            else "only the success of all replicas"
        )
        losses.note(
            chief.path,
            f"in {losses.target} a job cannot choose the replica that decides; {who} ends the job,"
            f" not that of {_TO_HUB[chief.type]} {chief.index}",
        )


def _hub_replica(entry: _Entry, chief: _Chief, image: str, losses: Losses) -> dict[str, Any]:
    found: dict[str, Any] = {} if entry.count.value is None else {"replicas": entry.count.value}
    found["restartPolicy"] = _hub_policy(entry, chief, losses)
    template = entry.template.value or {}
    if entry.has_default_server:
        losses.note(
            entry.template.path,
            f"{losses.target} has no default parameter server; the template gets a container with"
            f" the image {image} that starts one with a line of Python",
        )
        template = _with_server(template, image)
    template = _without_policy(template)
    number = entry.port.value or PORT
    named = hub_port(template)
    if named is not None and named.value != number:
        losses.note(
            f"{entry.path}.{named.path}",
            f"the port of this name is the replica's address; its number becomes {number}",
        )
    found["template"] = with_hub_port(template, number)
    return found


def _hub_policy(entry: _Entry, chief: _Chief, losses: Losses) -> str:
    path, given = entry.policy
    if entry.type != chief.type:
        if given == "Never" and losses.is_for_hub:
            losses.note(
                path,
                f"in {losses.target} Never does not restart; it becomes OnFailure, restarts in"
                " place",
            )
        return "OnFailure"
    if given != "Never":
        losses.note(
            path,
            f"{losses.target} cannot restart in place depending on the exit code; it becomes"
            " ExitCode: each restart creates a new pod, and running out of memory restarts the"
            " replica instead of failing the job",
        )
    if entry.size > 1 and losses.is_for_hub:
        losses.note(
            path,
            f"{losses.target} has one policy for all replicas of a type; a permanent failure of any"
            f" {_TO_HUB[entry.type]} fails the job, not only that of index {chief.index}",
        )
    return "ExitCode"


def _without_policy(template: Mapping[str, Any]) -> Mapping[str, Any]:
    spec = template.get("spec") or {}
    return {
        **template,
        "spec": {key: each for key, each in spec.items() if key != "restartPolicy"},
    }


def _with_server(template: Mapping[str, Any], image: str) -> Mapping[str, Any]:
    place = training_index(template)
    command = ["python", "-c", _SERVER]
    if place is None:
        server = {"name": TRAINING_CONTAINER, "image": image, "command": command}
        number = len((template.get("spec") or {}).get("containers") or ())
        return with_container(template, number, server)
    stored = template["spec"]["containers"][place]
    mounts = [each for _, each in objects(stored["volumeMounts"]) if not _is_program(each)]
    kept = {key: each for key, each in stored.items() if key != "volumeMounts"}
    more = {"volumeMounts": mounts} if mounts else {}
    return with_container(template, place, {**kept, "command": command, **more})


def _is_program(mount: Mapping[str, Any]) -> bool:
    return mount.get("name") == default_parameter_server.VOLUME


def _drop_extras(spec: Fields, image: Taken, losses: Losses, *, uses_image: bool) -> None:
    if not uses_image:
        losses.drop(image, same=("",), instead="every container has an image of its own")
    losses.drop(spec.take("RuntimeId"), same=("",), instead="children are named after the job")
    losses.drop_unconverted(spec)


def from_hub(manifest: Manifest, beyond: BeyondHub = NOTHING_BEYOND) -> Conversion:
    job, losses = HubJob(manifest), Losses(API_VERSION)
    kept = [each for each in job.replicas if _is_convertible(each, losses)]
    spec: dict[str, Any] = {
        "replicaSpecs": [
            _own_replica(
                each,
                _own_policy(each, losses, beyond, is_decisive=each is job.decisive_replica),
                losses,
            )
            for each in kept
        ]
    }
    spec |= tensorboard_of(beyond)
    chief = _own_chief(job.decisive_replica, losses)
    if chief:
        spec["terminationPolicy"] = {"chief": chief}
    for key, (same, instead) in _DROPPED_POLICIES.items():
        losses.drop(job.policy.take(key), same=same, instead=instead)
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
    found = as_kind(job.metadata, api_version=API_VERSION, kind=KIND, spec=spec)
    return Conversion(found, losses.found)


def _is_convertible(replica: HubReplica, losses: Losses) -> bool:
    kind = _FROM_HUB.get(replica.type)
    if kind is None:
        losses.note(replica.path, f"{API_VERSION} has no {replica.type}; it is left out")
        return False
    if kind == MASTER and not replica.count:
        losses.note(replica.path, f"{API_VERSION} allows 1 MASTER or none; it is left out")
        return False
    if replica.type == "Chief":
        losses.note(
            replica.path,
            f"{API_VERSION} has no Chief; it becomes MASTER, with task type master in TF_CONFIG",
        )
    return True


def _own_chief(decisive_replica: HubReplica | None, losses: Losses) -> dict[str, Any]:
    if decisive_replica is None:
        losses.note(
            "spec.tfReplicaSpecs", f"{API_VERSION} rejects a job in which no replica decides"
        )
    if decisive_replica is None or _FROM_HUB[decisive_replica.type] == MASTER:
        return {}
    if decisive_replica.type == "PS" and decisive_replica.count > 1:
        losses.note(
            f"{decisive_replica.path}.replicas",
            f"in {API_VERSION} one replica decides; the success of PS 0 ends the job, not only that"
            " of all replicas",
        )
    return {"replicaName": _FROM_HUB[decisive_replica.type], "replicaIndex": 0}


def _own_replica(replica: HubReplica, policy: str, losses: Losses) -> dict[str, Any]:
    found: dict[str, Any] = {"tfReplicaType": _FROM_HUB[replica.type], **replica.fields}
    port = hub_port(replica.template)
    if port is not None and port.value != PORT:
        found["tfPort"] = port.value
    path = f"{replica.path}.template.spec.restartPolicy"
    given = replica.template["spec"].get("restartPolicy")
    if given:
        losses.note(path, f"{given} has no effect here; the replica's restartPolicy is used")
    spec = {**replica.template["spec"], "restartPolicy": policy}
    return {**found, "template": {**replica.template, "spec": spec}}


def _own_policy(
    replica: HubReplica, losses: Losses, beyond: BeyondHub, *, is_decisive: bool
) -> str:
    """The policy of the pods. A batch Job replaces a pod with Never that has failed."""
    path, given = replica.restart
    policy, is_recreated = given or "Never", replica.type in beyond.recreated
    if not is_decisive:
        written = "Never" if is_recreated else "OnFailure"
        if policy != "OnFailure":
            losses.note(
                path,
                f"{API_VERSION} restarts {replica.type} replicas after every failure, which never"
                f" fails the job; {policy} becomes {written}",
            )
        return written
    pods = "Never" if is_recreated else _PODS_OF[policy]
    if policy != "ExitCode":
        losses.note(
            path,
            f"in {API_VERSION} the exit code of this replica decides under every policy: 1 to 127"
            f" fails the job, 128 to 255 restarts the replica; its pods get {pods}",
        )
    elif beyond.retryable_codes:
        losses.note(
            path,
            f"{API_VERSION} retries every exit code from 128, not only {beyond.retryable_codes}",
        )
    if policy == "ExitCode" and replica.count > 1:
        losses.note(
            path,
            f"in {API_VERSION} only {replica.type} 0 can fail the job;"
            " the others are restarted after every failure",
        )
    return pods


_PODS_OF = {"ExitCode": "Never", "Never": "Never", "OnFailure": "OnFailure", "Always": "OnFailure"}
