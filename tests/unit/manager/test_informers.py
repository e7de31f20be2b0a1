"""The informers of a dialect and their listeners."""

import asyncio
from typing import Any

import pytest

from tests.support.fake_dialect import BOARD, FakeDialect
from tests.support.local_apiserver.in_memory import CORE, InMemoryApiServer
from tfjob.client.http import Api
from tfjob.dialects.base import Dialect, Settings
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.manager.controller import cancel
from tfjob.manager.informers import Informers, Listeners, Source, extra_child_apis

OURS = {"training.kubeflow.org/operator-name": "tfjob-controller"}


def informers(dialect: Dialect, *, api: Api | None = None, **settings: Any) -> Informers:
    listeners = Listeners(on_job=lambda _old, _new: None, on_child=lambda _old, _new: None)
    return Informers(
        Source(api or InMemoryApiServer().api), dialect, Settings(**settings), listeners=listeners
    )


async def test_dialect_decides_which_kinds_are_watched() -> None:
    assert set(informers(KubeflowV1()).all) == {"jobs", "Pod", "Service"}
    assert set(informers(FakeDialect()).all) == {"jobs", "Pod", "Service", "Job", "ConfigMap"}
    served = informers(FakeDialect(), served=frozenset({BOARD.name}))
    assert "Board" in served.all
    assert "Board" in served.stores.companions
    groups = informers(KubeflowV1(), gang_scheduler_name="volcano")
    assert "PodGroup" in groups.all
    assert groups.stores.pod_groups is not None


@pytest.mark.scenario("R39")
async def test_pods_of_others_are_never_cached() -> None:
    async with InMemoryApiServer() as server:
        for name, labels in (("ours", OURS), ("foreign", {"app": "web"})):
            pod = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "labels": labels},
                "spec": {"containers": [{"name": "c", "image": "x"}]},
            }
            await server.make(f"{CORE}/pods", pod)
        followed = informers(KubeflowV1(), api=server.api)
        tasks = [asyncio.create_task(each.run()) for each in followed.all.values()]
        try:
            await followed.wait_until_synced()
            assert [each.metadata.name for each in followed.stores.pods] == ["ours"]
        finally:
            await cancel(tasks)


@pytest.mark.parametrize("scheduler", ["", "none", "volcano", "Volcano", "others"])
def test_pod_groups_are_watched_if_the_dialect_uses_them(scheduler: str) -> None:
    found = extra_child_apis(KubeflowV1(), Settings(gang_scheduler_name=scheduler))
    assert [each.kind for each in found] == ([] if scheduler in {"", "none"} else ["PodGroup"])
