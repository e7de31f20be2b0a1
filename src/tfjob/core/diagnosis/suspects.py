"""The replicas worth a look: all but those whose pod runs undisturbed, or that have none.

Most replicas of most jobs run. A diagnosis of a large job must not cost more than looking once at
each of them.
"""

from tfjob.core.observe import ObservedState, ReplicaInstance
from tfjob.k8s.pod import Phase, Pod


def suspects(observed: ObservedState) -> list[ReplicaInstance]:
    return [
        instance
        for instances in observed.instances.values()
        for instance in instances
        if (pod := instance.pod) is not None
        and (instance.phase is not Phase.RUNNING or _is_disturbed(pod))
    ]


def _is_disturbed(pod: Pod) -> bool:
    """Whether a running pod is being deleted, or a container of it was restarted or waits."""
    if pod.metadata.deletion_timestamp is not None or pod.status.phase != Phase.RUNNING:
        return True
    for status in pod.status.container_statuses:
        if status.restart_count or status.state.running is None:
            return True
    return any(status.restart_count for status in pod.status.init_container_statuses)
