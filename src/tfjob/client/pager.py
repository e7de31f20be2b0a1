"""Lists a whole collection, page by page.

All pages have the resource version of the first. An object that cannot be decoded is skipped, so
that it does not hide the others.
"""

from collections.abc import Callable, Mapping
from typing import Final, Protocol, TypeVar

import msgspec

from tfjob.client.resource import Resource
from tfjob.client.watch_codec import (
    HasMetadata,
    InitialList,
    LineDecoder,
    Page,
    Replaced,
    Unreadable,
)

T = TypeVar("T", bound=HasMetadata)
P = TypeVar("P")

PAGE_SIZE: Final = 500


class PageSource(Protocol):
    """A source of pages."""

    async def list_page(
        self, path: str, *, decode: type[P], params: Mapping[str, str] | None = None
    ) -> P: ...


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The collection to list or watch; no namespace means all namespaces."""

    resource: Resource
    namespace: str | None = None
    labels: str = ""
    fields: str = ""

    @property
    def path(self) -> str:
        return self.resource.collection(self.namespace)

    @property
    def selectors(self) -> dict[str, str]:
        given = {"labelSelector": self.labels, "fieldSelector": self.fields}
        return {name: text for name, text in given.items() if text}


async def list_all(
    api: PageSource,
    scope: Scope,
    *,
    decoder: LineDecoder[T],
    on_unreadable: Callable[[Unreadable], object],
    page_size: int = PAGE_SIZE,
) -> Replaced[T]:
    """List all objects of a scope. Raises Gone if the version expires before the last page."""
    state = InitialList[T]()
    params = {**scope.selectors, "limit": str(page_size)}
    while True:
        page = await api.list_page(scope.path, decode=Page, params=params)
        for item in page.items or ():
            read = decoder.item(item)
            if isinstance(read, Unreadable):
                on_unreadable(read)
            state.take(read)
        if not page.metadata.continue_token:
            return state.as_of(page.metadata.resource_version)
        params["continue"] = page.metadata.continue_token
