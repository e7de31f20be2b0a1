"""Table rows of pods."""

from typing import Any

import pytest

from tfjob.local.apiserver.pod_printer import shown_state

Json = dict[str, Any]


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ({"phase": "Pending"}, "Pending"),
        ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        ({"phase": "Running", "containerStatuses": [{"state": {"waiting": {"reason": "X"}}}]}, "X"),
        (
            {"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 3}}}]},
            "ExitCode:3",
        ),
        ({"phase": "Pending", "initContainerStatuses": [{"state": {"running": {}}}]}, "Init:0/1"),
    ],
)
def test_a_pods_word(status: Json, state: str) -> None:
    pod = {"metadata": {}, "spec": {"initContainers": [{}]}, "status": status}
    assert shown_state(pod) == state
