"""Whether a container that ended is started again, and when.

Its law: the first restart is at once, the next after the base delay, then twice as long each time
up to a limit; a run that lasted long enough begins the count anew. It must not know processes.
"""

import msgspec

from tfjob.local.node.record import Terminated


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds between restarts; the defaults are a kubelet's."""

    base: float = 10.0
    limit: float = 300.0
    reset_after: float = 600.0


def is_restarted(policy: str, ended: Terminated, *, is_init: bool) -> bool:
    """What the pod's restart policy says; an init container that succeeded is done."""
    if policy == "Never":
        return False
    return ended.exit_code != 0 or (policy == "Always" and not is_init)


def crashes_after(crashes: int, *, ran_seconds: float, backoff: Backoff) -> int:
    """The number of quick ends in a row, this one included."""
    return 1 if ran_seconds >= backoff.reset_after else crashes + 1


def delay(crashes: int, backoff: Backoff) -> float:
    """Seconds to wait after so many quick ends in a row."""
    if crashes <= 1:
        return 0.0
    doublings = min(crashes - 2, 30)
    return float(min(backoff.limit, backoff.base * 2**doublings))


def waiting_message(seconds: float, *, container: str, pod: str, namespace: str, uid: str) -> str:
    """A kubelet's words while a container waits for its next start."""
    minutes, rest = divmod(round(seconds), 60)
    span = (f"{minutes}m" if minutes else "") + f"{rest}s"
    return f"back-off {span} restarting failed container={container} pod={pod}_{namespace}({uid})"
