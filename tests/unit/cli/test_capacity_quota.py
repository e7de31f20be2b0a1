from typing import Any

import pytest

from tfjob.cli.capacity import exceeded, is_scoped

Json = dict[str, Any]


def quota(hard: Json, used: Json | None = None) -> Json:
    return {"metadata": {"name": "team"}, "status": {"hard": hard, "used": used or {}}}


def pods(count: int) -> list[Json]:
    resources = {"requests": {"cpu": "500m"}, "limits": {"nvidia.com/gpu": "2", "memory": "1Gi"}}
    return [{"spec": {"containers": [{"resources": resources}]}}] * count


@pytest.mark.parametrize(
    ("hard", "used", "found"),
    [
        ({"pods": "4"}, {}, []),
        ({"pods": "4"}, {"pods": "1"}, ["pods: it needs 4, and quota 'team' has 3 left"]),
        ({"count/pods": "3"}, {}, ["count/pods: it needs 4, and quota 'team' has 3 left"]),
        ({"requests.cpu": "1"}, {}, ["requests.cpu: it needs 2, and quota 'team' has 1 left"]),
        ({"cpu": "2"}, {}, []),
        ({"limits.memory": "3Gi"}, {},
         ["limits.memory: it needs 4Gi, and quota 'team' has 3Gi left"]),
        ({"requests.nvidia.com/gpu": "4"}, {"requests.nvidia.com/gpu": "9"},
         ["requests.nvidia.com/gpu: it needs 8, and quota 'team' has 0 left"]),
        ({"services": "3"}, {}, ["services: it needs 4, and quota 'team' has 3 left"]),
        ({"persistentvolumeclaims": "0", "nonsense": "x"}, {}, []),
    ],
)  # fmt: skip
def test_resources_that_exceed_a_quota_are_named(hard: Json, used: Json, found: list[str]) -> None:
    assert list(exceeded(quota(hard, used), pods(4), services=4)) == found


def test_a_quota_with_scopes_is_recognized() -> None:
    assert is_scoped({"spec": {"scopes": ["BestEffort"]}})
    assert is_scoped({"spec": {"scopeSelector": {"matchExpressions": []}}})
    assert not is_scoped(quota({}))
