"""A time without an operator: programs end, and ended pods are collected before anybody looks.

Ended pods are also drained from their nodes while an operator runs.
"""

from tests.support.fake_kubelet import pod_status
from tests.support.histories import nodes
from tests.support.histories.server import ENDED, PODS, Key
from tests.support.histories.world import World

_STEPS = 5
"""Steps in which a kubelet takes a pod from its creation to its end."""
_PAUSE = 2.0
"""Seconds after which the end of a pod and its eviction have different times."""


def away(world: World, which: int, how: int) -> str | None:
    """The only operator dies, every pod gets on, those that have ended are deleted or drained, and
    a new operator starts."""
    if len(world.operators) != 1 or world.server.lost_nodes:
        return None
    world.operators.pop().crash()
    world.settle()
    told = ["no operator runs, and the pods go on"]
    for place, key in enumerate(world.keys(PODS)):
        for _ in range(_STEPS):
            if key in world.server.objects:
                nodes.take_step(world, key, which >> place & 1, is_ending=True)
    world.loop.advance(_PAUSE)
    for key in [each for each in world.keys(PODS) if how % 4 and _has_ended(world, each)]:
        _evict_or_delete(world, key, is_drained=how % 4 == 1)
        told.append(
            f"{key[1]}/{key[2]} has ended and is {'drained' if how % 4 == 1 else 'deleted'}"
        )
    told.append(world.start_operator())
    return "; ".join(told)


def drain(world: World, which: int, _: int) -> str | None:
    """A node is drained, and with it a pod that has ended some time ago."""
    ended = [key for key in world.keys(PODS) if _has_ended(world, key)]
    if not ended:
        return None
    world.loop.advance(_PAUSE)
    key = ended[which % len(ended)]
    if key in world.server.objects:
        _evict_or_delete(world, key, is_drained=True)
    return f"the ended pod {key[1]}/{key[2]} is drained from its node"


def _has_ended(world: World, key: Key) -> bool:
    pod = world.server.objects[key]
    return pod["status"].get("phase") in ENDED and "deletionTimestamp" not in pod["metadata"]


def _evict_or_delete(world: World, key: Key, *, is_drained: bool) -> None:
    """The Eviction API marks a pod as disrupted first, whether or not it has ended."""
    pod = world.server.objects[key]
    if is_drained:
        reason, now = "EvictionByEvictionAPI", world.server_time()
        status = pod_status.disrupted(pod, now, reason=reason)
        kept = {"observedGeneration": pod["status"].get("observedGeneration", 0)}
        world.server.edit(key, {**pod, "status": {**status, **kept}})
    world.server.delete(key)
