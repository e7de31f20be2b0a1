"""The same writes without an operator: the cost of the API server alone.

An operator watches the jobs that users create, writes the first status of each at once, and
creates its pods and services. The same requests are sent here, with the decisions of the core for
each stored job, but nothing is watched and nothing else is written.
"""

import asyncio
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from benchmarks.bench_env import BenchEnv, Measured
from benchmarks.scenarios.many import REPLICAS
from benchmarks.server import Server
from benchmarks.watch_probe import JOBS, NAMESPACE, job
from tfjob.core.child_manifests import ManifestBuilder
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.plan import Plan
from tfjob.core.reconcile import reconcile
from tfjob.dialects.base import Settings
from tfjob.dialects.kubeflow import status as kubeflow_status
from tfjob.dialects.kubeflow.v1 import KubeflowV1


async def measure(env: BenchEnv, *, jobs: int) -> Measured:
    """The time from the first job until all children exist."""
    probe = env.probe
    bodies = [job(f"job-{number}", workers=REPLICAS - 1) for number in range(jobs)]
    wanted = probe.children + 2 * REPLICAS * jobs
    mark = await env.mark()
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for body in bodies:
            group.create_task(_write(env.server, body))
    done = await probe.until(lambda: probe.children >= wanted, what="all children")
    return await env.used_since(mark, children=done - began)


async def _write(server: Server, body: Mapping[str, Any]) -> None:
    """Create a job, write its first status and create its children."""
    stored = await server.create(JOBS, body)
    decoded = KubeflowV1().decode(stored, Settings())
    assert isinstance(decoded, Job), decoded
    plan = reconcile(job=decoded, children=Children(), now=datetime.now(tz=UTC))
    await server.update(f"{JOBS}/{stored['metadata']['name']}/status", _with_status(stored, plan))
    builder = ManifestBuilder(decoded)
    await server.create_all(
        (f"/api/v1/namespaces/{NAMESPACE}/{str(create.kind).lower()}s", builder.manifest(create))
        for create in plan.creates
    )


def _with_status(stored: dict[str, Any], plan: Plan) -> dict[str, Any]:
    assert plan.status is not None
    return {**stored, "status": kubeflow_status.encode(plan.status)}
