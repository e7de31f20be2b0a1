"""A puppet that plays the kubelet of one namespace: pods live and die as the test says.

Law: it acts on pods by the kubelet's acts alone, once per pod and play, and finishes deletions as
it was told. What goes wrong in the background is raised at the end, never lost.
It must not know TFJobs.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from enum import Enum
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Self

from tests.support.controlplane.api import Api
from tests.support.controlplane.endpoint import Endpoint
from tests.support.controlplane.kubelet import MAIN_CONTAINER, Kubelet, PodGoneError, name_and_uid
from tests.support.controlplane.podstatus import Pod
from tests.support.controlplane.podwatch import PodWatch

_WAIT_SECONDS = 20.0

Step = Callable[["Puppet", Pod], Awaitable[object]]


class Deletions(Enum):
    """When a pod that is being deleted is gone."""

    AT_ONCE = "its processes heed the first signal"
    AFTER_GRACE = "its processes are killed when the grace period is over"
    ON_DEMAND = "when the test says so"


class Puppet(Kubelet):
    """One namespace's kubelet with eyes and a script; use as an async context manager."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        namespace: str,
        node: str = "puppet",
        deletions: Deletions = Deletions.AT_ONCE,
    ) -> None:
        api = Api(endpoint)
        super().__init__(api, namespace=namespace, node=node)
        self._deletions = deletions
        self._watch = PodWatch(api, path=self._pods_path, on_change=self._notice)
        self._plays: list[tuple[str, tuple[Step, ...]]] = []
        self._played: set[str] = set()
        self._leaving: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._faults: list[Exception] = []

    async def __aenter__(self) -> Self:
        await self._api.__aenter__()
        await self.register_node()
        self._eyes = self._spawn(self._watch.run())
        await self.until("the pods are listed", lambda _: True)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        faults = tuple(self._faults)
        # First the connections, then the tasks: a connection that a cancelled task gives up says
        # farewell over TLS, and the event loop may be gone before the answer comes.
        await self._api.__aexit__(kind, fault, trace)
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if faults:
            raise ExceptionGroup("what the puppet did in the background failed", faults)

    @property
    def pods(self) -> Mapping[str, Pod]:
        """The namespace's pods by name, as last seen."""
        return self._watch.pods

    async def until(
        self,
        what: str,
        is_so: Callable[[Mapping[str, Pod]], bool],
        *,
        seconds: float = _WAIT_SECONDS,
    ) -> None:
        """Wait until the pods satisfy a condition; fails with a picture of them otherwise."""
        await self._watch.until(what, is_so, seconds=seconds)

    async def appears(self, name: str) -> Pod:
        """Wait until a pod of that name exists and is not being deleted."""

        def exists(pods: Mapping[str, Pod]) -> bool:
            return name in pods and "deletionTimestamp" not in pods[name]["metadata"]

        await self.until(f"pod {name} exists", exists)
        return self.pods[name]

    async def gone(self, pod: str | Pod) -> None:
        """Wait until the pod does not exist."""
        name, uid = name_and_uid(pod)

        def is_gone(pods: Mapping[str, Pod]) -> bool:
            return name not in pods or uid not in (None, pods[name]["metadata"]["uid"])

        await self.until(f"pod {name} is gone", is_gone)

    def play(self, pattern: str, *steps: Step) -> None:
        """Take every pod whose name matches through the steps, once, those already there too.

        The first pattern that matches a name counts.
        """
        self._plays.append((pattern, steps))
        for pod in tuple(self.pods.values()):
            self._notice(pod)

    async def idle(self) -> None:
        """Wait until every play that has begun, and every deletion, has come to its end."""
        while at_work := self._tasks - {self._eyes}:
            await asyncio.wait(at_work)

    def _notice(self, pod: Pod) -> None:
        uid = pod["metadata"]["uid"]
        if "deletionTimestamp" in pod["metadata"]:
            if self._deletions is not Deletions.ON_DEMAND and uid not in self._leaving:
                self._leaving.add(uid)
                self._spawn(self._let_go(pod))
            return
        steps = self._steps_for(pod["metadata"]["name"])
        if steps and uid not in self._played:
            self._played.add(uid)
            self._spawn(self._perform(pod, steps))

    def _steps_for(self, name: str) -> tuple[Step, ...]:
        matching = (steps for pattern, steps in self._plays if fnmatchcase(name, pattern))
        return next(matching, ())

    async def _perform(self, pod: Pod, steps: tuple[Step, ...]) -> None:
        try:
            for step in steps:
                await step(self, pod)
        except PodGoneError:
            # Deleted in the middle of its play, by whoever is under test: the play is over.
            return

    async def _let_go(self, pod: Pod) -> None:
        exit_code = 143
        if self._deletions is Deletions.AFTER_GRACE:
            exit_code = 137
            await asyncio.sleep(pod["metadata"]["deletionGracePeriodSeconds"])
        try:
            await self.finish_deletion(pod, exit_code=exit_code)
        except PodGoneError:
            # Deleted by force meanwhile: nothing is left to do.
            return

    def _spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        fault = None if task.cancelled() else task.exception()
        if isinstance(fault, Exception):
            self._faults.append(fault)


async def runs(puppet: Puppet, pod: Pod) -> None:
    """A step: the pod is bound and its containers run."""
    await puppet.run(pod)


def exits(*codes: int, container: str = MAIN_CONTAINER) -> Step:
    """A step: a container ends. The nth pod of a name takes the nth code, later ones the last."""
    lives: Counter[str] = Counter()

    async def ends(puppet: Puppet, pod: Pod) -> None:
        name = pod["metadata"]["name"]
        code = codes[min(lives[name], len(codes) - 1)]
        lives[name] += 1
        await puppet.finish(pod, exit_code=code, container=container)

    return ends
