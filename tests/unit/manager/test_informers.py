"""The informers of a dialect and their listeners."""

from typing import Any

import pytest

from tests.support.fake_dialect import BOARD, FakeDialect
from tests.support.local_apiserver.in_memory import InMemoryApiServer
from tfjob.dialects.base import Dialect, Settings
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.manager.informers import Informers, Listeners, Source, extra_child_apis


def informers(dialect: Dialect, **settings: Any) -> Informers:
    listeners = Listeners(on_job=lambda _old, _new: None, on_child=lambda _old, _new: None)
    return Informers(
        Source(InMemoryApiServer().api), dialect, Settings(**settings), listeners=listeners
    )


async def test_dialect_says_what_is_followed() -> None:
    assert set(informers(KubeflowV1()).all) == {"jobs", "Pod", "Service"}
    assert set(informers(FakeDialect()).all) == {"jobs", "Pod", "Service", "Job", "ConfigMap"}
    served = informers(FakeDialect(), served=frozenset({BOARD.name}))
    assert "Board" in served.all
    assert "Board" in served.stores.companions
    groups = informers(KubeflowV1(), gang_scheduler_name="volcano")
    assert "PodGroup" in groups.all
    assert groups.stores.pod_groups is not None


@pytest.mark.parametrize("scheduler", ["", "none", "volcano", "Volcano", "others"])
def test_groups_are_among_the_kinds_beside_if_there_are_any(scheduler: str) -> None:
    found = extra_child_apis(KubeflowV1(), Settings(gang_scheduler_name=scheduler))
    assert [each.kind for each in found] == ([] if scheduler in {"", "none"} else ["PodGroup"])
