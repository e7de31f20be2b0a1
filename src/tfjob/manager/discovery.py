"""Which APIs a cluster has: asked for, and waited for.

Trouble with asking is waited out; where asking is not allowed, an API is taken to be there, since
trying it is then the only way to find out. An optional API whose objects may not be listed is not
usable, and is tried again like one that is missing.
"""

import logging
from collections.abc import Callable
from typing import Final

from tfjob.client.backoff import Backoff
from tfjob.client.errors import ApiError, Forbidden, NotFound
from tfjob.client.http import Api
from tfjob.client.resource import Resource, is_served
from tfjob.client.timing import Timing
from tfjob.client.watch_codec import Page

_log: Final = logging.getLogger(__name__)
_FIRST_PAUSE: Final = 1.0


class Discovery:
    """`longest` is the longest pause in seconds between two looks; the first are shorter."""

    def __init__(self, api: Api, *, timing: Timing, longest: float) -> None:
        self._api = api
        self._timing = timing
        self._longest = longest
        self._refused: set[Resource] = set()

    async def is_there(self, resource: Resource) -> bool:
        pauses = self._pauses()
        while True:
            try:
                return await is_served(self._api, resource)
            except Forbidden:
                return True
            except ApiError as error:
                facts = {"api": resource.root, "fault": str(error)}
                _log.warning("APIs cannot be asked for, will be tried again", extra=facts)
                await self._timing.sleep(pauses.next())

    async def is_usable(self, resource: Resource, *, namespace: str | None) -> bool:
        """The API is there and its objects may be listed; that they may not is logged once."""
        if not await self.is_there(resource):
            return False
        try:
            params = {"limit": "1"}
            await self._api.list_page(resource.collection(namespace), decode=Page, params=params)
        except NotFound:
            return False
        except Forbidden as error:
            if resource not in self._refused:
                self._refused.add(resource)
                facts = {"api": resource.root, "resource": resource.plural, "fault": error.message}
                _log.warning(
                    "optional API not allowed: the rest is served; grant list and watch on it",
                    extra=facts,
                )
            return False
        except ApiError:
            return True  # the watch waits trouble out
        self._refused.discard(resource)
        return True

    async def until_usable(self, resource: Resource, *, namespace: str | None) -> None:
        pauses = self._pauses()
        while not await self.is_usable(resource, namespace=namespace):
            await self._timing.sleep(pauses.next())

    async def until_there(
        self, resource: Resource, *, on_missing: Callable[[], None] = lambda: None
    ) -> None:
        """Return once the API is there; that it is not is told once."""
        if await self.is_there(resource):
            return
        on_missing()
        pauses = self._pauses()
        while True:
            await self._timing.sleep(pauses.next())
            if await self.is_there(resource):
                return

    def _pauses(self) -> Backoff:
        return Backoff(first=_FIRST_PAUSE, longest=self._longest, chance=self._timing.chance)
