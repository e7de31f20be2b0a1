"""Decodes runPolicy.schedulingPolicy into the gang of the configured scheduler.

`volcano` has its own PodGroup API, and `kubernetes` means the gangs of kube-scheduler itself. Any
other scheduler is expected to use the PodGroup of scheduler-plugins.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tfjob.core.scheduling_spec import GangSpec
from tfjob.dialects.base import ChildApi, Settings

_VOLCANO = "volcano"
_KUBERNETES = "kubernetes"
_OFF = frozenset({"", "none"})
_FIXED_VERSIONS = frozenset({"v1alpha1", "v1alpha2"})
"""Versions of scheduling.k8s.io whose PodGroups cannot be changed."""
TOPOLOGY = "tfjob.dev/topology-key"
"""The annotation of a job that names the node label whose value all its nodes must share."""
IN_GROUP = "tfjob.dev/pod-group"
"""The annotation of a pod that was created as a member of a PodGroup of scheduling.k8s.io."""
VOLCANO = ChildApi("PodGroup", "scheduling.volcano.sh", "v1beta1", "podgroups")
SCHEDULER_PLUGINS = ChildApi("PodGroup", "scheduling.x-k8s.io", "v1alpha1", "podgroups")
KUBERNETES = ChildApi("PodGroup", "scheduling.k8s.io", "", "podgroups")
"""The version is the one that the cluster serves."""


def pod_groups(settings: Settings) -> ChildApi | None:
    """The PodGroup API of the configured scheduler, or None if gang scheduling is off."""
    scheduler = settings.gang_scheduler_name.lower()
    if scheduler in _OFF:
        return None
    if scheduler == _KUBERNETES:
        return msgspec.structs.replace(KUBERNETES, version=settings.pod_group_version)
    return VOLCANO if scheduler == _VOLCANO else SCHEDULER_PLUGINS


def gang_for(
    settings: Settings,
    *,
    job_name: str,
    policy: Mapping[str, Any],
    annotations: Mapping[str, str],
) -> GangSpec | None:
    """The gang of a job, or None if gang scheduling is off."""
    scheduler = settings.gang_scheduler_name
    if scheduler.lower() in _OFF:
        return None
    min_member = policy["minAvailable"]
    if scheduler.lower() == _VOLCANO:
        return _volcano(job_name=job_name, min_member=min_member, policy=policy)
    if scheduler.lower() == _KUBERNETES:
        gang = _kubernetes(settings.pod_group_version, job_name=job_name, policy=policy)
        fields = _topology(annotations.get(TOPOLOGY, ""))
        return msgspec.structs.replace(gang, min_member=max(1, min_member), fields=fields)
    return _scheduler_plugins(scheduler, job_name=job_name, min_member=min_member, policy=policy)


def _volcano(*, job_name: str, min_member: int, policy: Mapping[str, Any]) -> GangSpec:
    fields = {
        "queue": policy["queue"],
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
        "minResources": policy.get("minResources") or None,
        "scheduleTimeoutSeconds": policy.get("scheduleTimeoutSeconds"),
    }
    return GangSpec(
        api_version="scheduling.x-k8s.io/v1alpha1",
        group_name=job_name,
        scheduler_name=scheduler,
        min_member=min_member,
        fields={key: value for key, value in fields.items() if value is not None},
        pod_labels={"scheduling.x-k8s.io/pod-group": job_name},
        priority_class=policy.get("priorityClass") or "",
        counts_ended_members=False,
        retries_when_touched=True,
    )


def _kubernetes(version: str, *, job_name: str, policy: Mapping[str, Any]) -> GangSpec:
    """The field of the pods is annotated as well: a server without the feature drops the field."""
    return GangSpec(
        api_version=f"{KUBERNETES.group}/{version}",
        group_name=job_name,
        scheduler_name="",
        min_member=1,
        min_member_path=("schedulingPolicy", "gang", "minCount"),
        pod_fields={"schedulingGroup": {"podGroupName": job_name}},
        pod_annotations={IN_GROUP: job_name},
        priority_class=policy.get("priorityClass") or "",
        computes_resources=False,
        counts_ended_members=False,
        is_resizable=version not in _FIXED_VERSIONS,
        waits_for_group=True,
        stays_until_pods_end=True,
    )


def _topology(key: str) -> dict[str, Any]:
    return {"schedulingConstraints": {"topology": [{"key": key}]}} if key else {}
