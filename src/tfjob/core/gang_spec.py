"""What a gang scheduler needs to know about a job and its pods, as data."""

from collections.abc import Mapping, MutableMapping
from typing import Any

import msgspec


class GangSpec(msgspec.Struct, frozen=True):
    """The fields of the PodGroup, and the labels and annotations of its pods."""

    api_version: str
    group_name: str
    scheduler_name: str
    min_member: int
    fields: Mapping[str, Any] = {}
    pod_labels: Mapping[str, str] = {}
    pod_annotations: Mapping[str, str] = {}
    role_key: str = ""
    is_role_a_label: bool = False
    keeps_stored_queue: bool = False
    computes_resources: bool = True
    waits_for_admission: bool = False
    waits_for_group: bool = False
    """Pods are created only once the PodGroup exists, whether or not it is admitted."""
    stays_with_pods: bool = False

    def mark(
        self,
        spec: MutableMapping[str, Any],
        *,
        labels: MutableMapping[str, str],
        annotations: MutableMapping[str, str],
        role: str,
    ) -> None:
        """Set the scheduler name, labels and annotations that put a pod into the gang."""
        if not spec.get("schedulerName"):
            spec["schedulerName"] = self.scheduler_name
        labels.update(self.pod_labels)
        annotations.update(self.pod_annotations)
        if self.role_key:
            (labels if self.is_role_a_label else annotations)[self.role_key] = role

    def uses_other_scheduler(self, template: Mapping[str, Any]) -> bool:
        """Whether the template names another scheduler, which then schedules the pods."""
        own = (template.get("spec") or {}).get("schedulerName")
        return bool(own) and own != self.scheduler_name
