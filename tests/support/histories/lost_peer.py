"""The incident of a collective job: one replica is lost, and its peers end with exit code 1.

The peers end at once or in later steps, so that an operator sees the two in any order.
"""

from tests.support.fake_kubelet import pod_status
from tests.support.fake_kubelet.pod_status import Exit
from tests.support.histories.server import PODS, Json, Key
from tests.support.histories.truth import controller_of
from tests.support.histories.world import World

_LOSS = Exit(code=137)
_FOLLOWED = Exit(code=1)


def lose_peer(world: World, which: int, how: int) -> str | None:
    """Kill one running pod; `how` says how many of its peers end in the same second."""
    running = [key for key, pod in world.server.objects.items() if runs(key, pod)]
    if not running:
        return None
    lost = running[which % len(running)]
    owner = controller_of(world.server.objects[lost]["metadata"])
    peers = [key for key in running if key != lost and _owner(world, key) == owner]
    if not owner or not peers:
        return None
    _end(world, lost, _LOSS)
    ended = peers[: how % (len(peers) + 1)]
    for key in ended:
        _end(world, key, _FOLLOWED)
    return f"pod {lost[1]}/{lost[2]} is killed, and {len(ended)} of {len(peers)} peers end with 1"


def _owner(world: World, key: Key) -> str:
    return controller_of(world.server.objects[key]["metadata"])


def runs(key: Key, pod: Json) -> bool:
    """Whether it is a pod whose containers run and that nobody has told to end."""
    if key[0] != PODS or "deletionTimestamp" in pod["metadata"]:
        return False
    statuses = pod["status"].get("containerStatuses") or [{}]
    return all("running" in each.get("state", {}) for each in statuses)


def _end(world: World, key: Key, how: Exit) -> None:
    pod = world.server.objects[key]
    now = world.node_time(pod)
    world.set_status(key, pod_status.exited(pod, now, container="tensorflow", how=how))
