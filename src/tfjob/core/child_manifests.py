"""Manifests of a job's children: the pod, service or batch Job of each replica.

A pod template is passed on unchanged except for the fields set here. Templates are never modified
in place; the manifests of a job share the parts that do not differ.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tfjob.core.job import FINALIZER, TRAINING_CONTAINER, Job, ReplicaType, ServicePort
from tfjob.core.plan import ChildKind, Create
from tfjob.core.tf_config import ClusterSpec

TF_CONFIG = "TF_CONFIG"
_MESSAGE_POLICY = "terminationMessagePolicy"
_NO_LIMIT = 2_147_483_647
"""The Job's own backoffLimit must never fail a replica: the TFJob counts the restarts."""


class ManifestBuilder:
    """Builds the manifests of one job's children. What the replicas share is computed once."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._owners = [job.owner.reference()]
        self._cluster = ClusterSpec(job)
        self._replicas = {replica.type: replica for replica in job.replicas}

    def manifest(self, create: Create) -> dict[str, Any]:
        if create.body is not None:
            return dict(create.body)
        replica = self._replicas[create.type]
        if create.kind == ChildKind.SERVICE:
            return self.service(replica, create.index)
        if create.kind == ChildKind.JOB:
            return self.batch_job(replica, create.index)
        return self.pod(
            replica, create.index, is_outside=create.is_outside, is_unqueued=create.is_unqueued
        )

    def pod(
        self,
        replica: ReplicaType,
        index: int,
        *,
        is_outside: bool = False,
        is_unqueued: bool = False,
    ) -> dict[str, Any]:
        template = self._template(replica, index, is_outside=is_outside, is_unqueued=is_unqueued)
        metadata = {"name": replica.name(index), **template["metadata"]}
        metadata["ownerReferences"] = self._owners
        finalizers = self._finalizers(replica, index, metadata.pop("finalizers", ()))
        if finalizers:
            metadata["finalizers"] = finalizers
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}

    def service(self, replica: ReplicaType, index: int) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": replica.name(index),
                "labels": self._indexed(replica.service_labels, index),
                "ownerReferences": self._owners,
            },
            "spec": {
                **({} if replica.has_cluster_ip else {"clusterIP": "None"}),
                "publishNotReadyAddresses": True,
                "selector": self._indexed(replica.selector, index),
                "ports": [_port(port) for port in replica.service_ports],
            },
        }

    def batch_job(self, replica: ReplicaType, index: int) -> dict[str, Any]:
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": replica.name(index),
                "labels": self._indexed(replica.pod_labels, index),
                "ownerReferences": self._owners,
            },
            "spec": {
                "completions": 1,
                "parallelism": 1,
                "backoffLimit": _NO_LIMIT,
                "template": self._template(replica, index),
            },
        }

    def _template(
        self,
        replica: ReplicaType,
        index: int,
        *,
        is_outside: bool = False,
        is_unqueued: bool = False,
    ) -> dict[str, Any]:
        given: Mapping[str, Any] = replica.template.get("metadata") or {}
        labels = self._pod_labels(replica, index, given.get("labels") or {})
        annotations = dict(given.get("annotations") or {})
        spec = self._spec(replica, index)
        gang = self._job.gang
        if gang is not None and is_outside:
            gang.mark_outside(spec)
        elif gang is not None:
            gang.mark(spec, labels=labels, annotations=annotations, role=replica.label)
        if self._job.queue is not None and not is_unqueued:
            labels |= self._job.queue.pod_labels
            annotations |= self._job.queue.pod_annotations
        metadata: dict[str, Any] = {"labels": labels}
        if annotations:
            metadata["annotations"] = annotations
        if given.get("finalizers"):
            metadata["finalizers"] = given["finalizers"]
        return {"metadata": metadata, "spec": spec}

    def _finalizers(self, replica: ReplicaType, index: int, given: Sequence[str]) -> list[str]:
        """The template's finalizers; the operator's own is on decisive pods only, if at all."""
        finalizers = [each for each in given if each != FINALIZER]
        semantics = self._job.semantics
        is_decisive = semantics.success_criterion.includes(replica.type, index)
        if semantics.holds_decisive_pods and is_decisive:
            finalizers.append(FINALIZER)
        return finalizers

    def _pod_labels(
        self, replica: ReplicaType, index: int, given: Mapping[str, str]
    ) -> dict[str, str]:
        """Default labels, then the template's, then the operator's: later ones win."""
        keys = self._job.labels
        labels = {**replica.default_labels}
        if keys.default_index is not None:
            labels[keys.default_index] = str(index)
        is_leader = keys.leaders.includes(replica.type, index)
        if is_leader and keys.default_leader is not None:
            labels[keys.default_leader[0]] = keys.default_leader[1]
        labels |= given
        labels |= self._indexed(replica.pod_labels, index)
        if is_leader and keys.leader is not None:
            labels[keys.leader[0]] = keys.leader[1]
        return labels

    def _spec(self, replica: ReplicaType, index: int) -> dict[str, Any]:
        spec: dict[str, Any] = {**replica.template["spec"]}
        spec["restartPolicy"] = replica.pod_restart_policy
        variable = self._cluster.text(replica, index)
        command = replica.commands[index] if replica.commands else None
        if variable is None and command is None and not self._job.keeps_last_lines:
            return spec
        containers = list(spec["containers"])
        for place, container in enumerate(containers):
            if container.get("name") != TRAINING_CONTAINER:
                continue
            containers[place] = self._container(container, variable=variable, command=command)
            if not self._job.tf_config.is_in_every_training_container:
                break
        spec["containers"] = containers
        return spec

    def _container(
        self, container: Mapping[str, Any], *, variable: str | None, command: object
    ) -> dict[str, Any]:
        changed = {**container}
        if self._job.keeps_last_lines and not container.get(_MESSAGE_POLICY):
            changed[_MESSAGE_POLICY] = "FallbackToLogsOnError"
        if command is not None:
            changed["command"] = command
        if variable is not None:
            env = list(container.get("env") or ())
            if self._job.tf_config.replaces_user_value:
                env = [each for each in env if each.get("name") != TF_CONFIG]
            changed["env"] = [*env, {"name": TF_CONFIG, "value": variable}]
        return changed

    def _indexed(self, labels: Mapping[str, str], index: int) -> dict[str, str]:
        return {**labels, self._job.labels.index: str(index)}


def _port(port: ServicePort) -> dict[str, Any]:
    manifest: dict[str, Any] = {"name": port.name, "port": port.port}
    if port.protocol:
        manifest["protocol"] = port.protocol
    return manifest
