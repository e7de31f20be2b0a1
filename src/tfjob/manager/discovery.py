"""Finds out which APIs the cluster serves, and waits for those that it does not serve yet.

Failed requests are retried. Without permission for discovery an API counts as served. An optional
API whose objects may not be listed is not usable, and is retried like a missing one.
"""

import logging
from collections.abc import Callable
from typing import Final

from tfjob.client.errors import ApiError, Forbidden, NotFound
from tfjob.client.flowcontrol import Backoff
from tfjob.client.http import Api
from tfjob.client.resource import Resource, is_served
from tfjob.client.timing import Timing
from tfjob.client.watch_codec import Page

_log: Final = logging.getLogger(__name__)
_INITIAL_DELAY: Final = 1.0


class Discovery:
    """`max_interval` is the longest interval in seconds between two checks."""

    def __init__(self, api: Api, *, timing: Timing, max_interval: float) -> None:
        self._api = api
        self._timing = timing
        self._max_interval = max_interval
        self._refused: set[Resource] = set()

    async def is_served(self, resource: Resource) -> bool:
        backoff = self._backoff()
        while True:
            try:
                return await is_served(self._api, resource)
            except Forbidden:
                return True
            except ApiError as error:
                fields = {"api": resource.root, "fault": str(error)}
                _log.warning("API discovery failed, will be retried", extra=fields)
                await self._timing.sleep(backoff.next())

    async def is_usable(self, resource: Resource, *, namespace: str | None) -> bool:
        """Whether the API is served and its objects may be listed. A refusal is logged once."""
        if not await self.is_served(resource):
            return False
        try:
            params = {"limit": "1"}
            await self._api.list_page(resource.collection(namespace), decode=Page, params=params)
        except NotFound:
            return False
        except Forbidden as error:
            if resource not in self._refused:
                self._refused.add(resource)
                fields = {"api": resource.root, "resource": resource.plural, "fault": error.message}
                _log.warning(
                    "optional API not permitted, grant list and watch on it to use it",
                    extra=fields,
                )
            return False
        except ApiError:
            return True  # The watch retries.
        self._refused.discard(resource)
        return True

    async def wait_until_usable(self, resource: Resource, *, namespace: str | None) -> None:
        backoff = self._backoff()
        while not await self.is_usable(resource, namespace=namespace):
            await self._timing.sleep(backoff.next())

    async def wait_until_served(
        self, resource: Resource, *, on_missing: Callable[[], None] = lambda: None
    ) -> None:
        """Wait until the API is served; `on_missing` is called once if it is not."""
        if await self.is_served(resource):
            return
        on_missing()
        backoff = self._backoff()
        while True:
            await self._timing.sleep(backoff.next())
            if await self.is_served(resource):
                return

    def _backoff(self) -> Backoff:
        return Backoff(
            initial=_INITIAL_DELAY, maximum=self._max_interval, chance=self._timing.chance
        )
