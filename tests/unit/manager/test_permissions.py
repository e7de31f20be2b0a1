"""The table of permissions is orderly; that it is true is shown against a real API server."""

from collections import Counter

import pytest

from tfjob.manager.permissions import PERMISSIONS, Need, Permission

_BY_NAME = [pytest.param(each, id=f"{each.resource.group}/{each.name}") for each in PERMISSIONS]


def test_each_kind_of_object_has_one_line() -> None:
    lines = Counter((each.resource.group, each.name) for each in PERMISSIONS)
    assert set(lines.values()) == {1}


def test_each_need_has_a_line() -> None:
    assert {each.need for each in PERMISSIONS} == set(Need)


@pytest.mark.parametrize("permission", _BY_NAME)
def test_no_verb_is_a_wildcard_or_named_twice(permission: Permission) -> None:
    assert "*" not in (permission.resource.group, permission.name, *permission.verbs)
    assert len(set(permission.verbs)) == len(permission.verbs) > 0
    assert permission.why


@pytest.mark.parametrize("permission", _BY_NAME)
def test_what_no_namespace_holds_is_apart_from_what_a_namespace_holds(
    permission: Permission,
) -> None:
    is_of_the_cluster = permission.need in {Need.CLUSTER, Need.PRIORITIES}
    assert permission.resource.namespaced is not is_of_the_cluster


def test_secrets_webhooks_and_definitions_are_not_asked_for() -> None:
    foreign = {"secrets", "configmaps", "customresourcedefinitions", "roles", "nodes/proxy"}
    assert not foreign & {each.name for each in PERMISSIONS}
