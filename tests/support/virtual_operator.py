"""An operator on an API server in memory, under virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from tests.support.local_apiserver.in_memory import InMemoryApiServer
from tests.support.simulation import virtual_time
from tfjob.client.config import Config
from tfjob.client.http import Api
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.manager.app import Environment, Operator
from tfjob.manager.settings import Settings

QUIET = Settings(metrics_address="0", health_address="0", lease_namespace="kube-system")
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{QUIET.lease_name}"
Act = Callable[[InMemoryApiServer], Awaitable[None]]


def operator(
    server: InMemoryApiServer,
    settings: Settings = QUIET,
    identity: str = "me",
    *,
    connect: Callable[..., Api] | None = None,
) -> Operator:
    return Operator(
        Config(server="http://simulated.invalid"),
        settings,
        dialects=[KubeflowV1()],
        identity=identity,
        environment=Environment(
            connect=connect or server.connection.connect,
            timing=virtual_time.timing(lambda: 0.5),
            now=virtual_time.now,
        ),
    )


def with_(**fields: Any) -> Settings:
    return msgspec.structs.replace(QUIET, **fields)


def simulated(act: Act) -> None:
    """Run a test in virtual time; all tasks that it starts must have ended at its end."""

    async def run() -> None:
        async with InMemoryApiServer(clock=virtual_time.now) as server:
            await act(server)
            await asyncio.sleep(1)
            assert asyncio.all_tasks() == {asyncio.current_task()}

    virtual_time.run(run())


def counted(one: Operator, name: str) -> float:
    labels = {"job_namespace": "default", "framework": "tensorflow"}
    full = f"training_operator_jobs_{name}_total"
    return one.metrics.registry.get_sample_value(full, labels) or 0.0
