"""Whether and when a container that exited is restarted, and its record after the exit.

The first restart is immediate, the second waits for the base delay, each further one twice as long,
up to a limit; a long enough run resets the delay. Containers of a stopping pod are not restarted.
"""

from datetime import datetime

import msgspec

from tfjob.k8s import time
from tfjob.local.node.checkpoint import ContainerRecord, PodRecord, Terminated, Waiting
from tfjob.local.node.pod_status import container_id
from tfjob.local.node.process import ContainerExit


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds between restarts; the defaults are a kubelet's."""

    base: float = 10.0
    limit: float = 300.0
    reset_after: float = 600.0


def is_restarted(policy: str, ended: Terminated, *, is_init: bool) -> bool:
    """Apply the restart policy; an init container that succeeded is done."""
    if policy == "Never":
        return False
    return ended.exit_code != 0 or (policy == "Always" and not is_init)


def crashes_after(crashes: int, *, ran_seconds: float, backoff: Backoff) -> int:
    """The number of short runs in a row, including this one."""
    return 1 if ran_seconds >= backoff.reset_after else crashes + 1


def delay(crashes: int, backoff: Backoff) -> float:
    """Seconds to wait after this many short runs in a row."""
    if crashes <= 1:
        return 0.0
    doublings = min(crashes - 2, 30)
    return float(min(backoff.limit, backoff.base * 2**doublings))


def waiting_message(seconds: float, *, container: str, pod: str, namespace: str, uid: str) -> str:
    """A kubelet's message for a container in back-off."""
    minutes, rest = divmod(round(seconds), 60)
    span = (f"{minutes}m" if minutes else "") + f"{rest}s"
    return f"back-off {span} restarting failed container={container} pod={pod}_{namespace}({uid})"


def terminated(
    ended: ContainerExit, record: ContainerRecord, *, termination_message: str, now: datetime
) -> Terminated:
    """The terminated state for the API."""
    return Terminated(
        exit_code=ended.code,
        reason=ended.reason or ("Completed" if ended.code == 0 else "Error"),
        message=ended.message or termination_message,
        started_at=_seconds(ended.started, now),
        finished_at=_seconds(ended.finished, now),
        container_id=container_id(record),
    )


def after_end(
    pod: PodRecord,
    old: ContainerRecord,
    end: Terminated,
    *,
    policy: str,
    backoff: Backoff,
    now: float,
) -> ContainerRecord:
    """The container's record after its process exited."""
    is_init = old in pod.init
    if pod.verdict is not None or not is_restarted(policy, end, is_init=is_init):
        return msgspec.structs.replace(old, state=end)
    crashes = crashes_after(old.crashes, ran_seconds=_ran_seconds(end), backoff=backoff)
    wait = delay(crashes, backoff)
    message = waiting_message(
        wait, container=old.name, pod=pod.name, namespace=pod.namespace, uid=pod.uid
    )
    state = Waiting("CrashLoopBackOff", message) if wait else Waiting("ContainerCreating")
    return msgspec.structs.replace(old, state=state, last=end, crashes=crashes, retry_at=now + wait)


def _ran_seconds(end: Terminated) -> float:
    started, finished = time.parse(end.started_at), time.parse(end.finished_at)
    if started is None or finished is None:
        return 0.0
    return (finished - started).total_seconds()


def _seconds(text: str, default: datetime) -> str:
    return time.render(time.parse(text) or default)
