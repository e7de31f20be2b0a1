"""Deletes a job, and with it its pods and services."""

from tfjob.sdk.connection import Cluster
from tfjob.sdk.jobs import ClusterJob


async def delete(cluster: Cluster, found: ClusterJob) -> None:
    """Never deletes a later job of the same name."""
    await cluster.api.delete(found.path, uid=found.job.owner.uid, propagation="Background")
