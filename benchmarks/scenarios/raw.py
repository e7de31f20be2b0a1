"""The same pods and services without an operator: the cost of the API server alone."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from benchmarks.bench_env import BenchEnv, Measured
from benchmarks.scenarios.many import REPLICAS
from benchmarks.watch_probe import JOBS, NAMESPACE, job
from tfjob.core.child_manifests import ManifestBuilder
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.reconcile import reconcile
from tfjob.dialects.base import Settings
from tfjob.dialects.kubeflow.v1 import KubeflowV1


async def measure(env: BenchEnv, *, jobs: int) -> Measured:
    """The time from the first create until all children exist; the jobs exist already."""
    probe = env.probe
    bodies = [job(f"job-{number}", workers=REPLICAS - 1) for number in range(jobs)]
    stored = await env.server.create_all((JOBS, body) for body in bodies)
    children = [child for each in stored for child in _children(each)]
    wanted = probe.children + len(children)
    mark = await env.mark()
    began = time.monotonic()
    await env.server.create_all(children)
    done = await probe.until(lambda: probe.children >= wanted, what="all children")
    return await env.used_since(mark, children=done - began)


def _children(stored: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The children that tfjob would create for a stored job, with their paths."""
    decoded = KubeflowV1().decode(stored, Settings())
    assert isinstance(decoded, Job), decoded
    plan = reconcile(job=decoded, children=Children(), now=datetime.now(tz=UTC))
    builder = ManifestBuilder(decoded)
    for create in plan.creates:
        path = f"/api/v1/namespaces/{NAMESPACE}/{str(create.kind).lower()}s"
        yield path, builder.manifest(create)
