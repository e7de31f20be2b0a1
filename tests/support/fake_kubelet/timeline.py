"""What a pod went through, one line for each change that matters to a controller.

`recorded.json` holds what a real kubelet reported in situations that tests on a real node play. The
fake kubelet and kwok are compared with it.
"""

import json
from pathlib import Path
from typing import Any

from tests.support.fake_kubelet.pod_status import Pod

RECORDED = Path(__file__).parent / "recorded.json"
GONE = "gone"


def look(pod: Pod) -> str:
    """Phase, state of the containers, marks of a disruption, and how long a deletion waits."""
    words = [pod["status"].get("phase", "Pending")]
    for entry in pod["status"].get("containerStatuses", []):
        words += _container(entry)
    marks = [each for each in pod["status"].get("conditions", []) if _is_disruption(each)]
    words += [each["reason"] for each in marks]
    if "reason" in pod["status"]:
        words.append(pod["status"]["reason"])
    if "deletionTimestamp" in pod["metadata"]:
        words.append(f"grace {pod['metadata']['deletionGracePeriodSeconds']}")
    return ", ".join(words)


def recorded() -> dict[str, list[str]]:
    """The lines of a real kubelet, by situation."""
    found: dict[str, list[str]] = json.loads(RECORDED.read_text())
    return found


def from_running_on(lines: list[str]) -> list[str]:
    """The lines after the first one in which the containers run."""
    return lines[lines.index("Running, running") + 1 :]


def _container(entry: dict[str, Any]) -> list[str]:
    words = []
    for kind, state in entry["state"].items():
        words.append(f"{kind} {state.get('exitCode', state.get('reason', ''))}".strip())
        if kind == "terminated" and state["reason"] not in ("Completed", "Error"):
            words.append(state["reason"])
    if entry["restartCount"]:
        words.append(f"restarts {entry['restartCount']}")
    return words


def _is_disruption(condition: dict[str, Any]) -> bool:
    return bool(condition["type"] == "DisruptionTarget" and condition["status"] == "True")
