"""Namespaces and ServiceAccounts of a new cluster."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tfjob.local.apiserver import bootstrap
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.store import Key, Store, StoreFullError


def account_in(backend: Backend, namespace: str) -> bool:
    return backend.store.get(Key("serviceaccounts", namespace, "default")) is not None


def namespace(name: str) -> tuple[Key, dict[str, dict[str, str]]]:
    return Key("namespaces", "", name), {"metadata": {"name": name}}


@pytest.fixture
def backend(tmp_path: Path) -> Backend:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    backend = Backend(Store(tmp_path / "objects.sqlite"), clock=lambda: now)
    bootstrap.ensure(backend)
    return backend


def let_the_disk_refuse_accounts(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    put = backend.store.put

    def refuse(key: Key, obj: dict[str, object]) -> object:
        if key.resource == "serviceaccounts":
            raise StoreFullError("the disk is full")
        return put(key, obj)

    monkeypatch.setattr(backend.store, "put", refuse)


def test_every_namespace_has_an_account(backend: Backend) -> None:
    assert all(account_in(backend, name) for name in bootstrap.NAMESPACES)
    backend.store.put(*namespace("new"))
    assert account_in(backend, "new")


def test_an_account_that_could_not_be_written_is_created_with_the_next_change(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_the_disk_refuse_accounts(backend, monkeypatch)
    backend.store.put(*namespace("new"))
    assert not account_in(backend, "new")
    monkeypatch.undo()
    backend.store.put(Key("configmaps", "new", "a"), {"metadata": {"name": "a"}})
    assert account_in(backend, "new")


def test_a_namespace_deleted_before_its_account_exists_gets_none(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_the_disk_refuse_accounts(backend, monkeypatch)
    key, body = namespace("new")
    backend.store.put(key, body)
    monkeypatch.undo()
    backend.store.remove(key, body)
    assert not account_in(backend, "new")
