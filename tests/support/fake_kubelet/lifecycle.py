"""What a kubelet does to a pod next: the one description that every fake kubelet follows.

A kubelet reports that a container has ended about a second before the pod's phase follows. It
restarts a container in place as the restart policy says, with a back-off from the second time on.
A pod that is being deleted gets SIGTERM; its containers end, its phase follows, and a last delete
without grace removes it. Pure: a pod in, the next step out.
"""

from enum import Enum

from tests.support.fake_kubelet import pod_status
from tests.support.fake_kubelet.pod_status import Exit, Pod, Status

PHASE_LAG = 1.0
"""Seconds between the report of a container's end and that of the phase."""
SIGTERM = Exit(code=143)
"""A program without a handler ends on SIGTERM."""
SIGKILL = Exit(code=137)
"""A program that ignores SIGTERM is killed when the grace period is over."""


class Action(Enum):
    """A step that is more than a status."""

    BIND = "give the pod a node"
    REMOVE = "delete the pod with a grace period of zero"


def next_step(pod: Pod, now: str, *, on_sigterm: Exit = SIGTERM) -> Status | Action | None:
    """The next status to write, or the next action; None while nothing is left to do.

    A container that runs goes on running. Whoever ends it writes that first.
    """
    if "deletionTimestamp" in pod["metadata"]:
        return _next_of_deletion(pod, now, on_sigterm)
    if not pod["spec"].get("nodeName"):
        return Action.BIND
    phase = pod["status"].get("phase", "Pending")
    if phase == "Pending":
        return None if _is_kept_waiting(pod) else pod_status.running(pod, now)
    return _next_of_running(pod, now) if phase == "Running" else None


def _next_of_deletion(pod: Pod, now: str, on_sigterm: Exit) -> Status | Action:
    """Waiting containers do not start; running ones end first, then the phase, then the pod."""
    entries = pod["status"].get("containerStatuses", [])
    if pod["status"].get("phase") in pod_status.PHASES_OVER or not entries:
        return Action.REMOVE
    if any("running" in each["state"] for each in entries):
        return pod_status.stopped(pod, now, how=on_sigterm)
    return pod_status.over(pod, now, how=on_sigterm)


def _next_of_running(pod: Pod, now: str) -> Status | None:
    entries = pod["status"].get("containerStatuses", [])
    for entry in entries:
        ended = entry["state"].get("terminated")
        is_waiting = entry["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff"
        if ended and pod_status.starts_again(pod, ended["exitCode"]) and entry["restartCount"]:
            return pod_status.backing_off(pod, now)
        if is_waiting or (ended and pod_status.starts_again(pod, ended["exitCode"])):
            return pod_status.restarted(pod, now, container=entry["name"])
    if entries and all("terminated" in each["state"] for each in entries):
        return pod_status.settled(pod, now)
    return None


def _is_kept_waiting(pod: Pod) -> bool:
    """Whether the status says why the containers cannot start."""
    entries = pod["status"].get("containerStatuses", [])
    reasons = {each["state"].get("waiting", {}).get("reason") for each in entries}
    return bool(reasons - {None, "ContainerCreating", "PodInitializing"})
