"""The CPU and memory that the pods of a job use, from the metrics API."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from tfjob.client.resource import Resource
from tfjob.k8s import quantity
from tfjob.k8s.quantity import Quantity
from tfjob.sdk import jobs
from tfjob.sdk.connection import Cluster
from tfjob.sdk.jobs import ClusterJob

_POD_METRICS: Final = Resource("metrics.k8s.io", "v1beta1", "pods")


class PodUsage(msgspec.Struct, frozen=True):
    cpu: Quantity
    memory: Quantity


class _Container(msgspec.Struct):
    usage: Mapping[str, str] = {}


class _Name(msgspec.Struct, frozen=True):
    name: str = ""


class _PodMetrics(msgspec.Struct):
    metadata: _Name = _Name()
    containers: Sequence[_Container] = ()


class _PodMetricsList(msgspec.Struct):
    items: Sequence[_PodMetrics] | None = None


async def usage_by_pod(cluster: Cluster, found: ClusterJob) -> Mapping[str, PodUsage]:
    """The usage of each pod of the job that was measured completely, by name."""
    answer = await cluster.api.list_page(
        _POD_METRICS.collection(found.namespace),
        decode=_PodMetricsList,
        params={"labelSelector": jobs.pods_selector(found)},
    )
    usages = {}
    for pod in answer.items or ():
        cpu, memory = _total(pod, "cpu"), _total(pod, "memory")
        if cpu is not None and memory is not None:
            usages[pod.metadata.name] = PodUsage(cpu, memory)
    return usages


def _total(pod: _PodMetrics, resource: str) -> Quantity | None:
    """The sum over all containers; None if one of them is unknown."""
    amounts = [quantity.parse(each.usage.get(resource, "")) for each in pod.containers]
    known = [each for each in amounts if each is not None]
    if not known or len(known) < len(amounts):
        return None
    return sum(known[1:], start=known[0])
