"""A time without an operator: programs end, and ended pods are collected before anybody looks."""

from tests.support.histories import nodes
from tests.support.histories.server import ENDED, PODS
from tests.support.histories.world import World

_STEPS = 5
"""Steps in which a kubelet takes a pod from its creation to its end."""


def away(world: World, which: int, how: int) -> str | None:
    """The only operator dies, every pod gets on, those that have ended are deleted, and a new
    operator starts."""
    if len(world.operators) != 1 or world.server.lost_nodes:
        return None
    world.operators.pop().crash()
    world.settle()
    told = [f"no operator runs, {'and' if how % 4 else 'but'} the pods go on"]
    for place, key in enumerate(world.keys(PODS)):
        for _ in range(_STEPS):
            if key in world.server.objects:
                nodes.take_step(world, key, which >> place & 1, is_ending=True)
        found = world.server.objects.get(key)
        if found is not None and found["status"].get("phase") in ENDED and how % 4:
            world.server.delete(key)
            told.append(f"{key[1]}/{key[2]} has {found['status']['phase']} and is deleted")
    told.append(world.start_operator())
    return "; ".join(told)
