"""One test's namespace in an environment: jobs are submitted, and waited for.

It reads the API server only, and waits for conditions, never for a time. A wait that fails shows
the actual state.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from types import TracebackType
from typing import Any, Self

from tests.support.controlplane.api import Api
from tests.support.controlplane.endpoint import ApiError
from tests.support.environments import Environment
from tests.support.fake_kubelet.driver import FakeKubelet
from tests.support.patience import PATIENCE
from tests.support.tfjobs import tfjob

Json = dict[str, Any]
_POLL_SECONDS = 0.05


class JobFixture:
    """A namespace, its fake kubelet, and what tests do there; use as an async context manager."""

    def __init__(self, env: Environment, kubelet: FakeKubelet, *, namespace: str) -> None:
        self.env = env
        self.kubelet = kubelet
        self.namespace = namespace
        self._api = Api(env.endpoint)
        self._markers = 0

    async def __aenter__(self) -> Self:
        await self._api.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._api.__aexit__(kind, fault, trace)

    async def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Json:
        """Any request to the API server."""
        return await self._api.call(method, path, body)

    async def submit(self, roles: str = "W1", **fields: Any) -> Json:
        """Create a job in the contract's shorthand, `submit("C1 P2 W4", restart="ExitCode")`."""
        return await self.create(tfjob(roles, **fields))

    async def create(self, job: Mapping[str, Any]) -> Json:
        """Create a job as written, in this namespace."""
        return await self.call("POST", self.jobs_path(job["apiVersion"].partition("/")[2]), job)

    async def refused(self, job: Mapping[str, Any]) -> str:
        """The text with which the API server refuses a job; it must refuse it."""
        try:
            made = await self.create(job)
        except ApiError as refusal:
            return str(refusal)
        raise AssertionError(f"was not refused: {json.dumps(made['spec'])}")

    async def job(self, name: str = "j") -> Json:
        return await self.call("GET", f"{self.jobs_path()}/{name}")

    async def patch(self, spec: Mapping[str, Any], name: str = "j") -> Json:
        """Change a job's spec by merge patch."""
        return await self.call("PATCH", f"{self.jobs_path()}/{name}", {"spec": spec})

    async def delete(self, name: str = "j", propagation: str = "Background") -> None:
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        await self.call("DELETE", f"{self.jobs_path()}/{name}", body)

    async def delete_pod(self, name: str) -> None:
        await self.call("DELETE", f"/api/v1/namespaces/{self.namespace}/pods/{name}")

    async def services(self) -> dict[str, Json]:
        """The namespace's services by name."""
        found = await self.call("GET", f"/api/v1/namespaces/{self.namespace}/services")
        return {each["metadata"]["name"]: each for each in found["items"]}

    async def pods(self) -> dict[str, Json]:
        """The namespace's pods by name, read now."""
        found = await self.call("GET", f"/api/v1/namespaces/{self.namespace}/pods")
        return {each["metadata"]["name"]: each for each in found["items"]}

    async def events(self, name: str = "j") -> list[Json]:
        """The events about one job, oldest first."""
        found = await self.call("GET", f"/api/v1/namespaces/{self.namespace}/events")
        about = [each for each in found["items"] if each["involvedObject"]["name"] == name]
        return sorted(about, key=lambda each: str(each["firstTimestamp"]))

    async def history(self, since: Json) -> list[Json]:
        """Every state that was stored of a job after the given one, up to now."""
        name, version = (since["metadata"][key] for key in ("name", "resourceVersion"))
        events = await self.changes(self.jobs_path(), since=version)
        objects = [event["object"] for event in events]
        return [each for each in objects if each["metadata"]["name"] == name]

    async def changes(self, path: str, *, since: str) -> list[Json]:
        """The watch events of a collection after a version, up to now."""
        items = (await self.call("GET", path))["items"]
        last = max((int(each["metadata"]["resourceVersion"]) for each in items), default=0)
        found: list[Json] = []
        if last <= int(since):
            return found
        async with aclosing(self._api.watch(path, since)) as events:
            async for event in events:
                found.append(event)
                if int(event["object"]["metadata"]["resourceVersion"]) >= last:
                    break
        return found

    async def until(
        self,
        what: str,
        is_so: Callable[[Json], bool],
        *,
        name: str = "j",
        seconds: float = PATIENCE,
    ) -> Json:
        """Wait until a job matches, and return it."""
        deadline = time.monotonic() + seconds
        while not is_so(found := await self.job(name)):
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"not so after {seconds} s: {what}\n{await self._story(found)}"
                )
            await asyncio.sleep(_POLL_SECONDS)
        return found

    async def reaches(self, *conditions: str, name: str = "j", seconds: float = PATIENCE) -> Json:
        """Wait until the conditions are these, in this order; `Running=F` means status False."""
        wanted = list(conditions)
        what = f"conditions {wanted}"
        return await self.until(
            what, lambda job: conditions_of(job) == wanted, name=name, seconds=seconds
        )

    async def comes_to(self, *endings: str, name: str = "j", seconds: float = PATIENCE) -> Json:
        """Wait until the last condition is one of these."""
        what = f"last condition {' or '.join(endings)}"
        return await self.until(
            what,
            lambda job: {*conditions_of(job)[-1:]} & {*endings} != set(),
            name=name,
            seconds=seconds,
        )

    async def event(
        self, reason: str, message: str = "", *, kind: str = "", name: str = "j"
    ) -> Json:
        """Wait until a job has an event with this reason and this text in its message."""

        def is_it(each: Json) -> bool:
            is_kind = not kind or each["type"] == kind
            return each["reason"] == reason and message in each["message"] and is_kind

        found: list[Json] = []

        async def is_told() -> bool:
            found[:] = [each for each in await self.events(name) if is_it(each)]
            return bool(found)

        await self.eventually(f"event {kind} {reason} {message!r}", is_told, name=name)
        return found[0]

    async def eventually(
        self, what: str, is_so: Callable[[], Any], *, name: str = "j", seconds: float = PATIENCE
    ) -> None:
        """Wait until an async predicate is true."""
        deadline = time.monotonic() + seconds
        while not await is_so():
            if time.monotonic() > deadline:
                raise AssertionError(f"not so after {seconds} s: {what}\n{await self._told(name)}")
            await asyncio.sleep(_POLL_SECONDS)

    async def children(self, *names: str, seconds: float = PATIENCE) -> None:
        """Wait until pods and services of exactly these names exist and none is on its way out."""

        async def are_there() -> bool:
            pods, services = await self.pods(), await self.services()
            leaving = [each for each in pods.values() if "deletionTimestamp" in each["metadata"]]
            return set(pods) == set(names) == set(services) and not leaving

        await self.eventually(f"children {names}", are_there, seconds=seconds)

    async def gone(self, name: str = "j") -> None:
        """Wait until a job does not exist."""

        async def is_gone() -> bool:
            try:
                await self.job(name)
            except ApiError as refusal:
                return refusal.status == 404
            return False

        await self.eventually(f"job {name} is gone", is_gone, name=name)

    async def settled(self) -> None:
        """Wait until the operator has reconciled all existing jobs: it serves jobs in order."""
        for _ in range(2):
            self._markers += 1
            name = f"marker-{self._markers}"
            await self.submit(name=name, run_policy={"suspend": True})
            await self.reaches("Created", "Suspended", name=name)
            await self.delete(name)

    def jobs_path(self, version: str = "v1") -> str:
        return f"/apis/kubeflow.org/{version}/namespaces/{self.namespace}/tfjobs"

    async def _told(self, name: str) -> str:
        try:
            return await self._story(await self.job(name))
        except ApiError as refusal:
            return str(refusal)

    async def _story(self, job: Json) -> str:
        events = await self.events(job["metadata"]["name"])
        told = [f"  {each['type']} {each['reason']}: {each['message']}" for each in events]
        pods = [f"  {name} {pod['status']['phase']}" for name, pod in (await self.pods()).items()]
        status = json.dumps(job.get("status", {}), indent=1)
        log = self.env.operator.log
        return "\n".join([status, "pods:", *pods, "events:", *told, f"log of the operator: {log}"])


@asynccontextmanager
async def job_fixture_in(env: Environment) -> AsyncIterator[JobFixture]:
    """A new namespace with a kubelet, deleted afterwards."""
    namespace = await asyncio.to_thread(env.server.create_namespace)
    try:
        async with (
            FakeKubelet(env.endpoint, namespace=namespace) as kubelet,
            JobFixture(env, kubelet, namespace=namespace) as fixture,
        ):
            yield fixture
            # Jobs go first, else the operator would replace their pods.
            await fixture.call("DELETE", fixture.jobs_path())
    finally:
        await asyncio.to_thread(env.server.delete_namespace, namespace)


def conditions_of(job: Mapping[str, Any]) -> list[str]:
    """`Created`, `Running=F`, … in array order, as the contract writes them."""
    found = job.get("status", {}).get("conditions") or []
    return [each["type"] if each["status"] == "True" else f"{each['type']}=F" for each in found]


def condition_of(job: Mapping[str, Any], kind: str) -> Json:
    """One condition of a job; it must have one of that type."""
    found = [each for each in job["status"]["conditions"] if each["type"] == kind]
    assert found, f"no condition {kind} among {conditions_of(job)}"
    only: Json = found[0]
    return only


def counts_of(job: Mapping[str, Any], role: str = "Worker") -> dict[str, int]:
    """The numbers of one replica type, zero values left out as they are stored."""
    entry = job.get("status", {}).get("replicaStatuses", {}).get(role, {})
    return {key: entry[key] for key in ("active", "succeeded", "failed") if key in entry}


def restarts_of(job: Mapping[str, Any], role: str = "Worker") -> int:
    """How often replicas of one type were started again, as the job's limit counts."""
    entry = job.get("status", {}).get("replicaStatuses", {}).get(role, {})
    found: int = entry.get("restarts", 0)
    return found
