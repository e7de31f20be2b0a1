"""A fake kubelet for one namespace of a served API server: a test decides how pods run and end.

Each pod is taken through its script once, and deletions are finished as the test chose. Errors in
the background are raised when the kubelet is closed.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from enum import Enum
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Self

from tests.support.controlplane.api import ATTEMPTS, Api
from tests.support.controlplane.endpoint import Endpoint
from tests.support.fake_kubelet import lifecycle
from tests.support.fake_kubelet.kubelet import (
    MAIN_CONTAINER,
    PodGoneError,
    PodLifecycle,
    name_and_uid,
)
from tests.support.fake_kubelet.pod_status import Exit, Pod
from tests.support.fake_kubelet.pod_watch import PodWatch
from tests.support.patience import PATIENCE

Step = Callable[["FakeKubelet", Pod], Awaitable[object]]


class Deletions(Enum):
    """When a pod that is being deleted is gone."""

    AT_ONCE = "its processes end on SIGTERM"
    AFTER_GRACE = "its processes are killed when the grace period is over"
    ON_DEMAND = "when the test says so"


class FakeKubelet(PodLifecycle):
    """Watches the pods of a namespace and acts on them; use as an async context manager.

    `on_sigterm` says how containers end on SIGTERM, `attempts` how often it asks a server that is
    away.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        namespace: str,
        deletions: Deletions = Deletions.AT_ONCE,
        on_sigterm: Exit = lifecycle.SIGTERM,
        attempts: int = ATTEMPTS,
    ) -> None:
        api = Api(endpoint, attempts=attempts)
        super().__init__(api, namespace=namespace)
        self._api = api
        self._on_sigterm = on_sigterm
        self._deletions = deletions
        self._watch = PodWatch(api, path=self._pods_path, on_change=self._notice)
        self._scripts: list[tuple[str, tuple[Step, ...]]] = []
        self._begun: set[str] = set()
        self._leaving: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._faults: list[Exception] = []

    async def __aenter__(self) -> Self:
        await self._api.__aenter__()
        await self.register_node()
        self._watching = self._spawn(self._watch.run())
        await self.until("the pods are listed", lambda _: True)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        faults = tuple(self._faults)
        # Connections first, then tasks: a connection that a cancelled task drops closes its TLS
        # session in the background, and the event loop may be gone before the answer comes.
        await self._api.__aexit__(kind, fault, trace)
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if faults:
            raise ExceptionGroup("what the fake kubelet did in the background failed", faults)

    @property
    def pods(self) -> Mapping[str, Pod]:
        """The namespace's pods by name, as last seen."""
        return self._watch.pods

    async def until(
        self,
        what: str,
        is_so: Callable[[Mapping[str, Pod]], bool],
        *,
        seconds: float = PATIENCE,
    ) -> None:
        """Wait until the pods satisfy a condition; a failure shows the pods."""
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

    def script(self, pattern: str, *steps: Step) -> None:
        """Take every pod whose name matches through the steps, once; the first match counts."""
        self._scripts.append((pattern, steps))
        for pod in tuple(self.pods.values()):
            self._notice(pod)

    async def idle(self) -> None:
        """Wait until every script and every deletion that has begun has ended."""
        while at_work := self._tasks - {self._watching}:
            await asyncio.wait(at_work)

    def _notice(self, pod: Pod) -> None:
        uid = pod["metadata"]["uid"]
        if "deletionTimestamp" in pod["metadata"]:
            is_known = uid in self._leaving or uid in self.lost
            if self._deletions is not Deletions.ON_DEMAND and not is_known:
                self._leaving.add(uid)
                self._spawn(self._let_go(pod))
            return
        steps = self._steps_for(pod["metadata"]["name"])
        if steps and uid not in self._begun:
            self._begun.add(uid)
            self._spawn(self._perform(pod, steps))

    def _steps_for(self, name: str) -> tuple[Step, ...]:
        matching = (steps for pattern, steps in self._scripts if fnmatchcase(name, pattern))
        return next(matching, ())

    async def _perform(self, pod: Pod, steps: tuple[Step, ...]) -> None:
        try:
            for step in steps:
                await step(self, pod)
        except PodGoneError:
            # Deleted in the middle of its script, by whoever is under test.
            return

    async def _let_go(self, pod: Pod) -> None:
        how = self._on_sigterm
        if self._deletions is Deletions.AFTER_GRACE:
            how = lifecycle.SIGKILL
            await asyncio.sleep(pod["metadata"]["deletionGracePeriodSeconds"])
        try:
            await self.finish_deletion(pod, exit_code=how.code)
        except PodGoneError:
            # Deleted by force meanwhile.
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


async def runs(kubelet: FakeKubelet, pod: Pod) -> None:
    """A step: the pod is bound and its containers run."""
    await kubelet.run(pod)


def exits(*codes: int, container: str = MAIN_CONTAINER) -> Step:
    """A step: a container ends. The nth pod of a name takes the nth code, later ones the last."""
    lives: Counter[str] = Counter()

    async def ends(kubelet: FakeKubelet, pod: Pod) -> None:
        name = pod["metadata"]["name"]
        code = codes[min(lives[name], len(codes) - 1)]
        lives[name] += 1
        await kubelet.finish(pod, exit_code=code, container=container)

    return ends
