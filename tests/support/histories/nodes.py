"""What kubelets and nodes do in a history: pods start, end, are evicted, and get lost.

Each function is one thing that happens. It says so in one line of plain English, or returns None
where there is nothing to do.
"""

from typing import Final

from tests.support.fake_kubelet import lifecycle, pod_status
from tests.support.fake_kubelet.pod_status import Exit
from tests.support.histories.server import ENDED, PODS, Json, Key
from tests.support.histories.world import World

ON_SIGTERM: Final = (143, 0, 137, 0, 1)


def kubelet(world: World, which: int, how: int) -> str | None:
    """A kubelet takes the next step with one pod; a container that runs ends."""
    key = world.pick(PODS, which)
    if key is None or world.server.objects[key]["spec"].get("nodeName") in world.server.lost_nodes:
        return None
    return take_step(world, key, world.codes[how % len(world.codes)], is_ending=how % 3 == 0)


def take_step(world: World, key: Key, code: int, *, is_ending: bool) -> str | None:
    pod = world.server.objects[key]
    title = f"pod {key[1]}/{key[2]}"
    sigterm = Exit(code=ON_SIGTERM[code % len(ON_SIGTERM)])
    step = lifecycle.next_step(pod, world.node_time(pod), on_sigterm=sigterm)
    if step is lifecycle.Action.BIND:
        node = f"n{int(pod['metadata']['uid'].rpartition('-')[2]) % 3}"
        if node in world.server.lost_nodes:
            node = "n9"
        world.server.edit(key, {**pod, "spec": {**pod["spec"], "nodeName": node}})
        return f"{title} is bound to {node}"
    if step is lifecycle.Action.REMOVE:
        if pod["metadata"].get("deletionGracePeriodSeconds") == 0:
            return None
        world.server.delete(key, grace=0)
        return f"the kubelet removes {title}"
    if step is None:
        return end(world, key, code) if is_ending else None
    assert isinstance(step, dict)
    world.set_status(key, step)
    return f"{title} is reported: {_shown(step)}"


def end(world: World, key: Key, code: int) -> str | None:
    """The training container of a running pod ends."""
    pod = world.server.objects[key]
    if pod["status"].get("phase") != "Running":
        return None
    how = Exit(code=code)
    status = pod_status.exited(pod, world.node_time(pod), container="tensorflow", how=how)
    world.set_status(key, status)
    return f"pod {key[1]}/{key[2]}: its container exits with {code}"


def evict(world: World, which: int, how: int) -> str | None:
    key = world.pick(PODS, which)
    if key is None:
        return None
    pod = world.server.objects[key]
    if pod["status"].get("phase") != "Running" or "deletionTimestamp" in pod["metadata"]:
        return None
    now = world.node_time(pod)
    if how % 2:
        world.set_status(key, pod_status.evicted(pod, now, message="low on memory"))
        return f"the kubelet evicts pod {key[1]}/{key[2]}"
    status = pod_status.disrupted(pod, now, reason="EvictionByEvictionAPI")
    world.set_status(key, status)
    if how % 4 == 0:
        world.server.delete(key)
    return f"pod {key[1]}/{key[2]} is marked to be disrupted"


def lose_node(world: World, which: int, _: int) -> str | None:
    """A node is gone, or a lost one is cleaned up after by the pod garbage collector."""
    node = f"n{which % 3}"
    if node not in world.server.lost_nodes:
        if world.server.lost_nodes:
            return None
        world.server.lost_nodes.add(node)
        for key in world.keys(PODS):
            if world.server.objects[key]["spec"].get("nodeName") == node:
                world.server.delete(key)
        return f"node {node} is lost, and its pods are deleted"
    clean_lost(world, node)
    return f"pods of the lost node {node} are removed by force"


def clean_lost(world: World, node: str) -> None:
    for key in world.keys(PODS):
        pod = world.server.objects[key]
        if pod["spec"].get("nodeName") != node:
            continue
        if pod["status"].get("phase") not in ENDED:
            status = pod_status.disrupted(pod, world.server_time(), reason="DeletionByPodGC")
            world.set_status(key, {**status, "phase": "Failed"})
        world.server.delete(key, grace=0)


def _shown(status: Json) -> str:
    states = [next(iter(each["state"]), "nothing") for each in status.get("containerStatuses", ())]
    return f"{status['phase']}, containers {states}"
