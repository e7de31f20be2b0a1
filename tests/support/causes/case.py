"""One cause of trouble, how it is injected, and what the job's diagnosis must then say.

The same list drives the tests and the table of measured causes, here and on other operators. A case
is injected into a scene: a namespace of a real API server, or a local cluster with real processes.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, Final, NamedTuple

from tests.support.controlplane.api import Api
from tests.support.controlplane.endpoint import ApiError, Endpoint
from tests.support.fake_kubelet.driver import Deletions, FakeKubelet
from tests.support.patience import PATIENCE
from tests.support.tfjobs import tfjob

Json = dict[str, Any]
POLL_SECONDS: Final = 0.05
WORKER: Final = "j-worker-0"


class Scene:
    """Where a case runs: a namespace, its kubelet, and requests."""

    def __init__(
        self,
        endpoint: Endpoint,
        api: Api,
        *,
        namespace: str,
        kubelet: FakeKubelet | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._api = api
        self._kubelet = kubelet
        self.resources = AsyncExitStack()
        """Closed after the case."""
        self.namespace = namespace
        self.known_at: float | None = None
        """When the API server had the information, on the monotonic clock."""

    @property
    def kubelet(self) -> FakeKubelet:
        assert self._kubelet is not None, "only a cluster has a fake kubelet"
        return self._kubelet

    @property
    def jobs(self) -> str:
        return f"/apis/kubeflow.org/v1/namespaces/{self.namespace}/tfjobs"

    def core(self, plural: str) -> str:
        return f"/api/v1/namespaces/{self.namespace}/{plural}"

    async def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Json:
        return await self._api.call(method, path, body)

    async def until_refused(self) -> None:
        """Wait until the API server refuses pods: new rules take effect after a moment."""
        container = {"name": "c", "image": "example.invalid/x"}
        body = {"metadata": {"name": "probe"}, "spec": {"containers": [container]}}
        path = f"{self.core('pods')}?dryRun=All"

        async def is_refused() -> bool:
            try:
                await asyncio.to_thread(self._endpoint.request, "POST", path, body)
            except ApiError:
                return True
            return False

        await self.until("pods are refused", is_refused)

    async def submit(self, roles: str = "W1", **fields: Any) -> None:
        """Create the job `j`; from now on the API server has the information."""
        await self.create(tfjob(roles, **fields))

    async def create(self, job: Mapping[str, Any]) -> None:
        await self.call("POST", self.jobs, job)
        self.is_known()

    async def with_pod_spec(self, *, restart: str | None = None, **fields: Any) -> None:
        """Create the job `j` with one worker whose pod has these fields."""
        job = tfjob("W1", restart=restart)
        job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"] |= fields
        await self.create(job)

    async def with_container(
        self, *, roles: str = "W1", restart: str | None = None, **fields: Any
    ) -> None:
        """Create the job `j` whose containers have these fields."""
        await self.create(job_of_containers(roles, restart=restart, **fields))

    def is_known(self, *, after: float = 0.0) -> None:
        """Note that the API server has the information, now or after some seconds."""
        self.known_at = time.monotonic() + after

    async def pod(self, name: str = WORKER) -> Json | None:
        try:
            return await self.call("GET", f"{self.core('pods')}/{name}")
        except ApiError as refusal:
            if refusal.status == 404:
                return None
            raise

    async def until_pod(
        self, what: str, is_so: Callable[[Json], object], name: str = WORKER
    ) -> None:
        """Wait until a pod matches; then the API server has the information."""

        async def holds() -> bool:
            found = await self.pod(name)
            return found is not None and bool(is_so(found))

        await self.until(f"{name}: {what}", holds)
        self.is_known()

    async def until(self, what: str, is_so: Callable[[], Awaitable[bool]]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not await is_so():
            if time.monotonic() > deadline:
                raise AssertionError(f"not so after {PATIENCE:.0f} s: {what}")
            await asyncio.sleep(POLL_SECONDS)

    async def running(self, *names: str) -> None:
        """Let the kubelet run the pods, and wait until they do."""
        for name in names or (WORKER,):
            await self.kubelet.appears(name)
            await self.kubelet.run(name)

    async def status(self) -> Json:
        found: Json = (await self.call("GET", f"{self.jobs}/j")).get("status", {})
        return found


Inject = Callable[[Scene], Awaitable[None]]


class Case(NamedTuple):
    number: int
    """The number of the cause in the list of causes."""
    title: str
    how: str
    inject: Inject
    cause: str
    replica: str = "worker-0"
    words: tuple[str, ...] = ()
    """What the message must contain."""
    remedy: tuple[str, ...] = ()
    deletions: Deletions = Deletions.AT_ONCE
    exit_code: int | None = None
    """The exit code to report where the program does not really run."""


class Outcome(NamedTuple):
    """The result of a case; `fault` is empty if the diagnosis was right."""

    case: Case
    diagnosis: Json
    seconds: float
    fault: str = ""


async def outcome_of(case: Case, scene: Scene, *, patience: float = PATIENCE) -> Outcome:
    """Inject the cause, and wait until the job's diagnosis says so."""
    try:
        await case.inject(scene)
    except AssertionError as fault:
        return Outcome(case, {}, 0.0, f"was not injected: {fault}")
    started = scene.known_at or time.monotonic()
    while True:
        found = (await scene.status()).get("diagnosis") or {}
        seconds = time.monotonic() - started
        if found.get("cause") == case.cause:
            return Outcome(case, found, seconds, _fault(case, found))
        if seconds > patience:
            told = f"{found.get('cause')}: {found.get('message')}" if found else "nothing"
            return Outcome(case, found, seconds, f"not {case.cause}, but {told}")
        await asyncio.sleep(POLL_SECONDS)


def _fault(case: Case, found: Mapping[str, Any]) -> str:
    """What is wrong with a diagnosis of the right cause."""
    if found.get("replica", "") != case.replica:
        return f"names {found.get('replica') or 'no replica'}, not {case.replica or 'the job'}"
    for field, words in (("message", case.words), ("remedy", case.remedy)):
        missing = [each for each in words if each not in found.get(field, "")]
        if missing:
            return f"{field} lacks {missing}: {found.get(field)}"
    return "" if found.get("remedy") else "has no remedy"


def job_of_containers(roles: str = "W1", *, restart: str | None = None, **fields: Any) -> Json:
    job = tfjob(roles, restart=restart)
    for spec in job["spec"]["tfReplicaSpecs"].values():
        spec["template"]["spec"]["containers"][0] |= fields
    return job
