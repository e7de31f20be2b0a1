"""Changes the number of workers of a job through its scale subresource, as `kubectl scale` does."""

from tfjob.client.http import PartialObjectMetadata
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.jobs import ClusterJob, resource_of


async def scale(cluster: Cluster, found: ClusterJob, workers: int) -> None:
    if found.status.is_finished:
        raise TFJobError(f"{found.title} has finished: {found.state}")
    if not _has_scale(found):
        raise TFJobError(
            f"{found.title}: {found.dialect.group}/{found.dialect.version} jobs cannot be scaled",
            remedy="delete the job, and create it again with another number of replicas",
        )
    path = resource_of(found.dialect).item(found.name, found.namespace, subresource="scale")
    await cluster.api.patch(path, {"spec": {"replicas": workers}}, decode=PartialObjectMetadata)


def _has_scale(found: ClusterJob) -> bool:
    versions = found.dialect.crd()["spec"]["versions"]
    return any("scale" in each.get("subresources", {}) for each in versions)
