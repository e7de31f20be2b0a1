"""Which pods get the volume of their token, and where it is mounted."""

from pathlib import Path
from typing import Any

import pytest

from tfjob.local.apiserver.pod_admission import PATH, add_token_volume
from tfjob.local.apiserver.store import Key, Store

Json = dict[str, Any]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "objects.sqlite")


def pod(**spec: Any) -> Json:
    containers = [{"name": "a"}, {"name": "b"}]
    return {
        "metadata": {"namespace": "n"},
        "spec": {"serviceAccountName": "default", "containers": containers, **spec},
    }


def added(store: Store, given: Json) -> list[str]:
    """The names of the containers with the mount."""
    add_token_volume(store, given)
    spec = given["spec"]
    names = {each["name"] for each in spec.get("volumes", ()) if "projected" in each}
    every = [*spec.get("initContainers", ()), *spec["containers"]]
    return [
        each["name"]
        for each in every
        if any(
            mount["name"] in names and mount["mountPath"] == PATH and mount["readOnly"]
            for mount in each.get("volumeMounts", ())
        )
    ]


def test_seed_002_line_157_every_container_has_the_mount(store: Store) -> None:
    given = pod(initContainers=[{"name": "i"}])
    assert added(store, given) == ["i", "a", "b"]
    (volume,) = given["spec"]["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    assert [*map(next, map(iter, volume["projected"]["sources"]))] == [
        "serviceAccountToken",
        "configMap",
        "downwardAPI",
    ]


def test_a_pod_that_opts_out_has_no_token_volume(store: Store) -> None:
    assert added(store, pod(automountServiceAccountToken=False)) == []


@pytest.mark.parametrize(("own", "expected"), [(None, []), (True, ["a", "b"])])
def test_the_setting_of_the_pod_overrides_that_of_its_account(
    store: Store, own: bool | None, expected: list[str]
) -> None:
    account = {"metadata": {"name": "default"}, "automountServiceAccountToken": False}
    store.put(Key("serviceaccounts", "n", "default"), account)
    spec = {} if own is None else {"automountServiceAccountToken": own}
    assert added(store, pod(**spec)) == expected


def test_a_container_keeps_its_own_mount_at_the_token_path(store: Store) -> None:
    own = [{"name": "mine", "mountPath": PATH}]
    given = pod()
    given["spec"]["containers"][0]["volumeMounts"] = own
    assert added(store, given) == ["b"]
    assert given["spec"]["containers"][0]["volumeMounts"] == own


def test_a_pod_copied_from_a_cluster_gets_no_second_token_volume(store: Store) -> None:
    assert added(store, pod(volumes=[{"name": "kube-api-access-5s5bq", "emptyDir": {}}])) == []
