"""Which job a user creates, and which owner a tenant's pod claims: chosen by numbers."""

from typing import Final

from tests.support.histories.server import Json, Key
from tests.support.tfjobs import tfjob
from tfjob.dialects.job_annotations import EVALUATOR_GRACE, RECOVERY

NAMESPACES: Final = ("a", "b")
ROLES: Final = ("W1", "W2", "W3", "C1 W1", "C1 W2", "P1 W1", "P1 W2", "M1 P1 W1", "C1 W1 E1")
POLICIES: Final = ("ExitCode", "OnFailure", "Never", "ExitCode", "Always", "ExitCode", "Never")
_OTHER: Final = {"apiVersion": "batch/v1", "kind": "Job", "name": "other", "uid": "other-1"}


def new_job(name: str, which: int, how: int) -> Json:
    """A job, chosen by two numbers."""
    restart = POLICIES[how % len(POLICIES)]
    policy: Json = {"cleanPodPolicy": ("Running", "All", "None")[which // 4 % 3]}
    limit = (None, 0, 1, 2, 3, 4)[how // 7 % 6]
    if limit is not None:
        policy["backoffLimit"] = limit
    if how // 42 % 8 == 0:
        policy["activeDeadlineSeconds"] = 60
    if how // 42 % 8 == 1:
        policy["ttlSecondsAfterFinished"] = (0, 30)[how // 336 % 2]
    if how // 42 % 8 == 2:
        policy["suspend"] = True
    job = tfjob(ROLES[which // 12 % len(ROLES)], name=name, restart=restart, run_policy=policy)
    if how // 336 % 6 == 0:
        job["spec"]["successPolicy"] = "AllWorkers"
    notes = {RECOVERY: ("Group", "Auto", "Group", "Replica")[how // 2016 % 4]}
    if how // 8064 % 2:
        notes[EVALUATOR_GRACE] = "20"
    job["metadata"]["annotations"] = notes
    return job


def claim(key: Key, job: Json, how: int) -> tuple[str, list[Json], str]:
    """Where a spoofed pod stands, whom it names as owner, and its name."""
    own = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "name": key[2],
        "uid": job["metadata"]["uid"],
    }
    other = NAMESPACES[1 - NAMESPACES.index(key[1])]
    index = how // 8 % 3
    match how % 4:
        case 0:
            return other, [{**own, "controller": True}], f"{key[2]}-worker-{index}"
        case 1:
            return key[1], [{**_OTHER, "controller": True}], f"spoof-{index}"
        case 2:
            return key[1], [], f"orphan-{index}"
    return key[1], [own], f"spoof-{index}"
