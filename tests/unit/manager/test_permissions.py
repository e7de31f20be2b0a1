"""The form of the permission table; conformance tests check it against a real API server."""

from collections import Counter

import pytest

from tfjob.controller.child_kinds import resource_of
from tfjob.dialects.base import Settings
from tfjob.dialects.registry import DESCRIPTORS
from tfjob.manager.informers import extra_child_apis
from tfjob.manager.permissions import PERMISSIONS, Need, Permission, need_of, permissions_for

_BY_NAME = [
    pytest.param(each, id=f"{each.need}-{each.resource.group}/{each.name}") for each in PERMISSIONS
]


def test_each_kind_of_object_has_one_line_per_need() -> None:
    lines = Counter((each.need, each.resource.group, each.name) for each in PERMISSIONS)
    assert set(lines.values()) == {1}


def test_each_need_has_a_line() -> None:
    of_dialects = {need_of(each, option) for each in DESCRIPTORS for option in ("", *each.options)}
    assert {each.need for each in PERMISSIONS} == {*Need, *of_dialects}


@pytest.mark.parametrize("permission", _BY_NAME)
def test_no_verb_is_a_wildcard_or_named_twice(permission: Permission) -> None:
    assert "*" not in (permission.resource.group, permission.name, *permission.verbs)
    assert len(set(permission.verbs)) == len(permission.verbs) > 0
    assert permission.why


@pytest.mark.parametrize("permission", _BY_NAME)
def test_no_need_mixes_cluster_scoped_and_namespaced_resources(
    permission: Permission,
) -> None:
    is_of_the_cluster = permission.need in {Need.CLUSTER, Need.METRICS, Need.PRIORITIES}
    assert permission.resource.namespaced is not is_of_the_cluster


def test_secrets_webhooks_and_crds_need_no_permission() -> None:
    foreign = {"secrets", "customresourcedefinitions", "roles", "nodes/proxy"}
    assert not foreign & {each.name for each in PERMISSIONS}


def test_only_jobs_of_the_oldest_api_need_config_maps_batch_jobs_and_their_own_update() -> None:
    found = {
        (each.need, each.resource.group, each.name)
        for each in PERMISSIONS
        if each.name in {"configmaps", "jobs"} or (each.name == "tfjobs" and "update" in each.verbs)
    }
    assert found == {
        ("tensorflow", "", "configmaps"),
        ("tensorflow", "batch", "jobs"),
        ("tensorflow", "tensorflow.org", "tfjobs"),
    }


def test_permissions_of_a_dialect_suffice_for_everything_its_children_are_made_of() -> None:
    for descriptor in DESCRIPTORS:
        own = permissions_for(descriptor)
        may_be_made = {each.resource for each in own if "create" in each.verbs}
        for backend in ("t9k", "volcano", "none"):
            options = {"t9k-pod-group-backend": backend}
            settings = Settings(options=options, gang_scheduler_name=backend)
            apis = extra_child_apis(descriptor.stored, settings)
            assert {resource_of(each) for each in apis} <= may_be_made
