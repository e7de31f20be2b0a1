"""The table of permissions is orderly; that it is true is shown against a real API server."""

from collections import Counter

import pytest

from tfjob.controller.kinds import resource_of
from tfjob.dialects.base import Settings
from tfjob.dialects.kubeflow_v1 import KubeflowV1
from tfjob.dialects.tensorflow_v1alpha1 import TensorflowV1alpha1
from tfjob.dialects.tensorstack_v1beta1 import TensorStackV1beta1
from tfjob.manager.informers import apis_beside
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
    foreign = {"secrets", "customresourcedefinitions", "roles", "nodes/proxy"}
    assert not foreign & {each.name for each in PERMISSIONS}


def test_only_jobs_of_the_oldest_api_need_config_maps_batch_jobs_and_their_own_update() -> None:
    found = {
        (each.need, each.resource.group, each.name)
        for each in PERMISSIONS
        if each.name in {"configmaps", "jobs"} or (each.name == "tfjobs" and "update" in each.verbs)
    }
    assert found == {
        (Need.TENSORFLOW, "", "configmaps"),
        (Need.TENSORFLOW, "batch", "jobs"),
        (Need.TENSORFLOW, "tensorflow.org", "tfjobs"),
    }


def test_everything_that_a_dialect_has_its_children_made_of_may_be_made() -> None:
    may_be_made = {each.resource for each in PERMISSIONS if "create" in each.verbs}
    for dialect in (KubeflowV1(), TensorflowV1alpha1(), TensorStackV1beta1()):
        for backend in ("t9k", "volcano", "none"):
            settings = Settings(group_backend=backend, gang_scheduler_name=backend)
            apis = apis_beside(dialect, settings)
            assert {resource_of(each) for each in apis} <= may_be_made
