"""What the end of a container's process means for its record.

Its law: an end is final, or waits for a restart, by the pod's restart policy alone; nothing is
restarted that is meant to stop. It must not know processes or folders, only what they left.
"""

from datetime import datetime

import msgspec

from tfjob.k8s import time
from tfjob.local.node.process import Ended
from tfjob.local.node.record import ContainerRecord, PodRecord, Terminated, Waiting
from tfjob.local.node.restarts import (
    Backoff,
    crashes_after,
    delay,
    is_restarted,
    waiting_message,
)
from tfjob.local.node.status import container_id


def terminated(
    ended: Ended, record: ContainerRecord, *, last_words: str, now: datetime
) -> Terminated:
    """The end as the API shows it."""
    return Terminated(
        exit_code=ended.code,
        reason=ended.reason or ("Completed" if ended.code == 0 else "Error"),
        message=ended.message or last_words,
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
    """The container's record once its process has ended."""
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
