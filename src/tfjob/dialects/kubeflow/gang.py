"""schedulingPolicy for the supported gang schedulers.

`volcano` has its own PodGroup API; any other scheduler is expected to use the PodGroup of
scheduler-plugins.
"""

from collections.abc import Mapping
from typing import Any

from tfjob.core.gang_spec import GangSpec
from tfjob.dialects.base import ChildApi

_VOLCANO = "volcano"
_OFF = frozenset({"", "none"})
VOLCANO = ChildApi("PodGroup", "scheduling.volcano.sh", "v1beta1", "podgroups")
SCHEDULER_PLUGINS = ChildApi("PodGroup", "scheduling.x-k8s.io", "v1alpha1", "podgroups")


def pod_groups(scheduler: str) -> ChildApi | None:
    """The PodGroup API of the configured scheduler, or None if gang scheduling is off."""
    if scheduler.lower() in _OFF:
        return None
    return VOLCANO if scheduler.lower() == _VOLCANO else SCHEDULER_PLUGINS


def gang_for(
    scheduler: str, *, job_name: str, total: int, policy: Mapping[str, Any]
) -> GangSpec | None:
    """The gang of a job, or None if gang scheduling is off."""
    if scheduler.lower() in _OFF:
        return None
    stored = policy.get("minAvailable")
    min_member = total if stored is None else stored
    if scheduler.lower() == _VOLCANO:
        return _volcano(job_name=job_name, min_member=min_member, policy=policy)
    return _scheduler_plugins(scheduler, job_name=job_name, min_member=min_member, policy=policy)


def _volcano(*, job_name: str, min_member: int, policy: Mapping[str, Any]) -> GangSpec:
    fields = {
        "queue": policy.get("queue") or "default",
        "priorityClassName": policy.get("priorityClass"),
        "minResources": policy.get("minResources"),
    }
    return GangSpec(
        api_version="scheduling.volcano.sh/v1beta1",
        group_name=job_name,
        scheduler_name=_VOLCANO,
        min_member=min_member,
        fields={key: value for key, value in fields.items() if value},
        pod_annotations={"scheduling.k8s.io/group-name": job_name},
        role_key="volcano.sh/task-spec",
        keeps_stored_queue=True,
        waits_for_admission=True,
    )


def _scheduler_plugins(
    scheduler: str, *, job_name: str, min_member: int, policy: Mapping[str, Any]
) -> GangSpec:
    fields = {
        "minResources": policy.get("minResources"),
        "scheduleTimeoutSeconds": policy.get("scheduleTimeoutSeconds"),
    }
    return GangSpec(
        api_version="scheduling.x-k8s.io/v1alpha1",
        group_name=job_name,
        scheduler_name=scheduler,
        min_member=min_member,
        fields={key: value for key, value in fields.items() if value is not None},
        pod_labels={"scheduling.x-k8s.io/pod-group": job_name},
    )
