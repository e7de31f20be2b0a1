"""Pod admission on the node: what cannot run without containers, and which fields are ignored.

A pod that can never run is rejected with a message that says what to change. Fields that only
refine how a pod runs are ignored and reported by name.
"""

from collections.abc import Mapping
from typing import Any

from tfjob.local.node.checkpoint import PodFailure
from tfjob.local.node.cluster_access import TOKEN_PATH
from tfjob.local.node.environment import containers_of
from tfjob.local.node.volumes import unsupported

Json = Mapping[str, Any]
_LEFT_OUT_OF_CONTAINERS = (
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "securityContext",
    "volumeDevices",
)
_LEFT_OUT_OF_PODS = (
    "nodeSelector",
    "affinity",
    "topologySpreadConstraints",
    "securityContext",
    "runtimeClassName",
    "hostAliases",
    "dnsConfig",
)


def rejection(pod: Json) -> PodFailure | None:
    """Why this pod can never run here; None if it can."""
    bare = [str(c.get("name")) for c in containers_of(pod) if not c.get("command")]
    if bare:
        return PodFailure("NoCommand", _no_command(bare))
    sidecars = [str(c.get("name")) for c in _init_containers(pod) if c.get("restartPolicy")]
    if sidecars:
        text = "init containers with a restartPolicy (sidecars) are not supported here"
        return PodFailure("UnsupportedSidecar", f"{text}: {', '.join(sidecars)}")
    faults = unsupported(pod)
    if faults:
        return PodFailure("UnsupportedVolume", "; ".join(faults))
    return None


def ignored_fields(pod: Json) -> tuple[str, ...]:
    """The fields of the pod that have no effect on this node."""
    spec = pod.get("spec") or {}
    found = {f"spec.{name}" for name in _LEFT_OUT_OF_PODS if spec.get(name)}
    for container in containers_of(pod):
        found.update(name for name in _LEFT_OUT_OF_CONTAINERS if container.get(name))
        mounts = container.get("volumeMounts") or ()
        if any(mount.get("readOnly") and mount.get("mountPath") != TOKEN_PATH for mount in mounts):
            found.add("volumeMounts.readOnly")
    return tuple(sorted(found))


def _no_command(names: list[str]) -> str:
    which = "container" if len(names) == 1 else "containers"
    return (
        f"{which} {', '.join(names)}: images do not run on this machine, so the image's own "
        "command is unknown; set `command`. The pod was not started"
    )


def _init_containers(pod: Json) -> list[Json]:
    return list((pod.get("spec") or {}).get("initContainers") or ())
