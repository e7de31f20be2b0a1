"""Decodes scheduler.t9kScheduler into the gang of the configured PodGroup backend.

A flag of the operator selects the backend: the T9k scheduler, volcano in its place, or none.
"""

from collections.abc import Mapping
from typing import Any

from tfjob.core.scheduling_spec import GangSpec
from tfjob.dialects.base import ChildApi, Settings
from tfjob.dialects.naming import label_value
from tfjob.dialects.tensorstack import api
from tfjob.dialects.tensorstack.spec import Scheduling

FLAG = "t9k-pod-group-backend"
T9K = "t9k"
VOLCANO = "volcano"
BACKENDS = (T9K, VOLCANO, "none")
OWN_GROUPS = ChildApi(
    "PodGroup", "scheduler.tensorstack.dev", "v1beta1", "podgroups", is_optional=True
)
VOLCANO_GROUPS = ChildApi(
    "PodGroup", "scheduling.volcano.sh", "v1beta1", "podgroups", is_optional=True
)
_POD_GROUPS = {T9K: OWN_GROUPS, VOLCANO: VOLCANO_GROUPS}


def backend_of(settings: Settings) -> str:
    """The configured PodGroup backend."""
    found: str = settings.options.get(FLAG, BACKENDS[0])
    return found


def pod_groups(backend: str) -> ChildApi | None:
    """The PodGroup API of a backend, or None if gang scheduling is off."""
    return _POD_GROUPS.get(backend)


def gang_for(
    scheduling: Scheduling | None, *, backend: str, job_name: str, total: int
) -> GangSpec | None:
    """The gang of a job, or None if it is not scheduled as one."""
    if scheduling is None:
        return None
    if backend == T9K:
        return _t9k(scheduling, job_name=job_name, total=total)
    return _volcano(scheduling, job_name=job_name, total=total) if backend == VOLCANO else None


def scheduled(template: Mapping[str, Any], gang: GangSpec | None) -> Mapping[str, Any]:
    """The template with the gang's scheduler, which overrides its own."""
    if gang is None:
        return template
    return {**template, "spec": {**template["spec"], "schedulerName": gang.scheduler_name}}


def _t9k(scheduling: Scheduling, *, job_name: str, total: int) -> GangSpec:
    return GangSpec(
        api_version=f"{OWN_GROUPS.group}/{OWN_GROUPS.version}",
        group_name=job_name,
        scheduler_name=api.SCHEDULER,
        min_member=total,
        fields={"queue": scheduling.queue, "priority": scheduling.priority},
        pod_labels={api.LABEL_GROUP: label_value(job_name)},
        other_labels={api.LABEL_QUEUE: label_value(scheduling.queue)},
        role_key=api.LABEL_GROUP_ROLE,
        is_role_a_label=True,
        computes_resources=False,
        waits_for_group=True,
        stays_with_pods=True,
    )


def _volcano(scheduling: Scheduling, *, job_name: str, total: int) -> GangSpec:
    """Volcano has priority classes only, so the numeric priority is dropped."""
    return GangSpec(
        api_version=f"{VOLCANO_GROUPS.group}/{VOLCANO_GROUPS.version}",
        group_name=job_name,
        scheduler_name=VOLCANO,
        min_member=total,
        fields={"queue": scheduling.queue},
        pod_annotations={"scheduling.k8s.io/group-name": job_name},
        role_key="volcano.sh/task-spec",
        waits_for_admission=True,
        waits_for_group=True,
        stays_with_pods=True,
    )
