"""The same job for code that runs in an event loop: every method that waits is a coroutine."""

from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Self

from tfjob.sdk.job import TFJob
from tfjob.sdk.job_logs import LogLine
from tfjob.sdk.job_state import Reason, Status
from tfjob.sdk.loop_thread import loop_thread
from tfjob.sdk.waiting import State


class AsyncTFJob:
    def __init__(self, job: TFJob) -> None:
        self.job = job

    async def status(self) -> Status:
        return await loop_thread().awaited(self.job.bound.status())

    def logs(
        self, *, follow: bool = True, replica: str | None = None, tail: int | None = None
    ) -> AsyncGenerator[LogLine, None]:
        bound = self.job.bound
        return loop_thread().aiterate(lambda: bound.logs(follow=follow, replica=replica, tail=tail))

    async def wait(
        self,
        timeout: float | None = None,  # noqa: ASYNC109 - as the blocking twin
        *,
        state: State = "finished",
    ) -> Status:
        return await loop_thread().awaited(self.job.bound.wait(state, timeout))

    async def explain(self) -> Reason:
        return await loop_thread().awaited(self.job.bound.explain())

    async def suspend(self) -> None:
        await loop_thread().awaited(self.job.bound.set_suspended(is_suspended=True))

    async def resume(self) -> None:
        await loop_thread().awaited(self.job.bound.set_suspended(is_suspended=False))

    async def scale(self, workers: int) -> None:
        await loop_thread().awaited(self.job.bound.scale(workers))

    async def restart(self, replica: str | None = None) -> None:
        await loop_thread().awaited(self.job.bound.restart(replica))

    async def delete(self) -> None:
        await loop_thread().awaited(self.job.bound.delete())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.job.is_submitted:
            await loop_thread().awaited(self.job.bound.delete_if_there())
