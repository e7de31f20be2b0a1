"""Listing a whole collection."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec
import pytest

from tfjob.client.errors import Gone
from tfjob.client.pager import Scope, list_all
from tfjob.client.resource import PODS
from tfjob.client.watch_codec import LineDecoder, Unreadable
from tfjob.k8s.meta import ObjectMeta

P = TypeVar("P")


class Thing(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    size: int = 0


class Pages:
    """A fake API with pages of a collection, the last of which may have expired."""

    def __init__(self, *pages: list[object] | None, expires: bool = False) -> None:
        self._pages = pages
        self._expires = expires
        self.asked: list[Mapping[str, str]] = []

    async def list_page(
        self, path: str, *, decode: type[P], params: Mapping[str, str] | None = None
    ) -> P:
        assert path == "/api/v1/namespaces/ns/pods"
        self.asked.append(dict(params or {}))
        number = int((params or {}).get("continue", "0"))
        if self._expires and number == len(self._pages) - 1:
            raise Gone("too old")
        following = str(number + 1) if number + 1 < len(self._pages) else ""
        metadata = {"resourceVersion": "9", "continue": following}
        return msgspec.json.decode(
            msgspec.json.encode({"metadata": metadata, "items": self._pages[number]}), type=decode
        )


SCOPE = Scope(resource=PODS, namespace="ns", labels="app=x", fields="spec.nodeName=n")


def item(name: str, size: object = 1) -> dict[str, object]:
    return {"metadata": {"name": name}, "size": size}


async def test_pages_add_up_to_the_collection() -> None:
    pages = Pages([item("a"), item("b")], [item("c")], None)
    whole = await list_all(
        pages, SCOPE, decoder=LineDecoder(Thing), on_unreadable=print, page_size=2
    )
    assert [thing.metadata.name for thing in whole.objects] == ["a", "b", "c"]
    assert whole.version == "9"
    selectors = {"labelSelector": "app=x", "fieldSelector": "spec.nodeName=n", "limit": "2"}
    assert pages.asked == [
        selectors,
        {**selectors, "continue": "1"},
        {**selectors, "continue": "2"},
    ]


async def test_a_malformed_object_is_left_out_by_name() -> None:
    odd: list[Unreadable] = []
    whole = await list_all(
        Pages([item("a"), item("b", size="large")]),
        SCOPE,
        decoder=LineDecoder(Thing),
        on_unreadable=odd.append,
    )
    assert [thing.metadata.name for thing in whole.objects] == ["a"]
    assert whole.skipped == {("", "b")}
    assert [event.key for event in odd] == [("", "b")]


async def test_a_version_that_expires_before_the_last_page_raises_gone() -> None:
    pages = Pages([item("a")], [item("b")], expires=True)
    with pytest.raises(Gone):
        await list_all(pages, SCOPE, decoder=LineDecoder(Thing), on_unreadable=print)
