"""What really happened to the pods: the kubelet's own record of each life.

A life begins when the kubelet first sees a pod, and ends with an exit code or by a deletion. The
record is made by whoever ends the containers, so that no lost answer can falsify it.
"""

import asyncio
import random
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from tests.chaos.jobs import Change, Kind
from tests.support.controlplane.endpoint import ApiError
from tests.support.fake_kubelet.driver import FakeKubelet
from tests.support.fake_kubelet.kubelet import PodGoneError
from tests.support.fake_kubelet.pod_status import Exit, Pod

JOB_LABEL = "training.kubeflow.org/job-name"
TYPE_LABEL = "training.kubeflow.org/replica-type"
_SHORTEST, _LONGEST = 0.5, 6.0
_ATTEMPTS = 2_000
_PAUSE_SECONDS = 0.5


@dataclass
class Life:
    """One pod: its UID, and the exit code that was reported; None while it has none."""

    uid: str
    exit_code: int | None = None


class Ledger:
    """The lives of the pods of one namespace, by job and by pod."""

    def __init__(self, kinds: dict[str, Kind], rng: random.Random) -> None:
        self._kinds = kinds
        self._rng = rng
        self.lives: dict[str, dict[str, list[Life]]] = defaultdict(lambda: defaultdict(list))
        self.types: dict[str, str] = {}

    async def live(self, kubelet: FakeKubelet, pod: Pod) -> None:
        """A step of the fake kubelet: run the pod for a while and end it as its job's kind says."""
        meta: dict[str, Any] = pod["metadata"]
        job, name = meta["labels"][JOB_LABEL], meta["name"]
        self.types[name] = meta["labels"][TYPE_LABEL]
        lives = self.lives[job][name]
        code = self._kinds[job].exit_code(
            self.types[name], sum(each.exit_code is not None for each in lives)
        )
        life = Life(meta["uid"])
        lives.append(life)
        await _started(kubelet, pod)
        if code is None:
            return
        await asyncio.sleep(self._rng.uniform(_SHORTEST, _LONGEST))
        current = await kubelet.read(pod)
        if "deletionTimestamp" in current["metadata"]:
            raise PodGoneError(f"pod {name} is being deleted")
        if self._kinds[job].change is Change.NONE:
            # Nobody deletes it before it ends, so an exit without an answer was reported.
            life.exit_code = code
        ended = await kubelet.exit(pod, Exit(code=code))
        # An exit of a pod that is already being deleted is the end of a deletion.
        life.exit_code = None if "deletionTimestamp" in ended["metadata"] else code
        await kubelet.step(await kubelet.read(ended))

    def faults(self) -> list[str]:
        """Every pod whose lives are not those that its job demands."""
        found: list[str] = []
        for job, pods in self.lives.items():
            for name, lives in pods.items():
                codes = [each.exit_code for each in lives]
                wrong = self._kinds[job].demands(self.types[name], codes)
                if wrong:
                    found.append(f"pod {name} of {self._kinds[job].name} job: {wrong}")
        return found


async def _started(kubelet: FakeKubelet, pod: Pod) -> None:
    """Start the pod. Without etcd, the API server answers a binding with Conflict."""
    for _ in range(_ATTEMPTS):
        try:
            await kubelet.run(pod)
        except ApiError as refusal:
            if refusal.status != 409:
                raise
            await asyncio.sleep(_PAUSE_SECONDS)
        else:
            return
    raise AssertionError(f"pod {pod['metadata']['name']} could not be bound")
