"""Any input leads to faults or to a job that can run, never to an exception.

Two kinds of input: JSON of any shape, and jobs that are almost right, which get further.
"""

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.builders import NOW, a_pod, a_service, manifest, manifests_of
from tests.support.strategies import manifests
from tests.unit.dialects.almost_right import SPEC
from tests.unit.k8s.json_values import JSON
from tfjob.core.invalid_job import reject
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.reconcile import reconcile
from tfjob.dialects.base import Settings, StatusContext
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.dialects.kubeflow.v1beta1 import KubeflowV1beta1
from tfjob.dialects.registry import DIALECTS
from tfjob.k8s.field import summary

ROLES = st.sampled_from(["chief", "master", "ps", "worker", "evaluator", "launcher", ""])
PHASES = st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown", "Odd", ""])
PODS = st.builds(
    a_pod,
    ROLES,
    st.integers(0, 3) | st.sampled_from(["", "-1", "x", "9" * 30]),
    PHASES,
    exit_code=st.none() | st.sampled_from([0, 1, 137, 255]),
    restarts=st.integers(0, 5),
    deleted=st.none() | st.integers(-9, 9),
)
CHILDREN = st.builds(
    Children,
    pods=st.lists(PODS, max_size=4),
    services=st.lists(st.builds(a_service, ROLES, st.integers(0, 3)), max_size=2),
)
SETTINGS = st.builds(
    Settings,
    gang_scheduler_name=st.sampled_from(["", "volcano", "other"]),
    exit_code_table=st.sampled_from(["default", "v1.9", "classic"]),
    has_legacy_labels=st.booleans(),
    has_evaluator_in_cluster=st.booleans(),
)
STATUSES = st.dictionaries(
    st.sampled_from(
        ["conditions", "replicaStatuses", "startTime", "completionTime", "lastReconcileTime"]
    ),
    JSON
    | st.lists(st.dictionaries(st.sampled_from(["type", "status"]), JSON))
    | st.dictionaries(st.just("Worker"), st.dictionaries(st.just("recentRestarts"), JSON)),
)
"""Statuses of which parts have the right shape."""


def run(dialect: Any, document: Any, flags: Settings, children: Children) -> None:
    """A document's whole way, from the file to the children that would be sent."""
    before = copy.deepcopy(document)
    faults = dialect.validate(document)
    summary(faults)
    found = dialect.decode(document, flags)
    if isinstance(found, Job):
        plan = reconcile(job=found, children=children, now=NOW)
        if not faults:
            msgspec.json.encode(manifests_of(found, plan))
    else:
        plan = reject(found, now=NOW)
        assert faults
    if plan.status is not None:
        msgspec.json.encode(
            dialect.encode_status(found, plan.status, StatusContext(children=children))
        )
    assert repr(document) == repr(before)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.version)
class TestAnything:
    @given(JSON, SETTINGS)
    def test_whole_manifest(self, dialect: Any, document: Any, flags: Settings) -> None:
        run(dialect, document, flags, Children())

    @given(JSON)
    def test_metadata(self, dialect: Any, metadata: Any) -> None:
        run(dialect, manifest() | {"metadata": metadata}, Settings(), Children())

    @given(JSON)
    def test_spec(self, dialect: Any, spec: Any) -> None:
        run(dialect, manifest() | {"spec": spec}, Settings(), Children())

    @given(JSON, CHILDREN)
    def test_status(self, dialect: Any, status: Any, children: Children) -> None:
        run(dialect, manifest() | {"status": status}, Settings(), children)

    @given(STATUSES, CHILDREN)
    def test_parts_of_a_status(self, dialect: Any, status: Any, children: Children) -> None:
        run(dialect, manifest("P1 W2") | {"status": status}, Settings(), children)


@settings(max_examples=60)
@given(SPEC, SETTINGS, CHILDREN)
def test_job_that_is_almost_right(spec: Any, flags: Settings, children: Children) -> None:
    new = manifest() | {"spec": spec}
    old = new | {"apiVersion": "kubeflow.org/v1beta1"}
    run(KubeflowV1(), new, flags, children)
    run(KubeflowV1beta1(), old, flags, children)
    assert bool(KubeflowV1().validate(new)) == bool(KubeflowV1beta1().validate(old))


def test_ten_megabytes_of_template_are_read() -> None:
    document = manifest("W3")
    (container,) = document["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    container["args"] = ["x" * 100] * 100_000
    run(KubeflowV1(), document, Settings(), Children())


def test_template_of_too_many_values_is_rejected() -> None:
    document = manifest("W3")
    (container,) = document["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    container["args"] = ["x"] * 1_000_000
    assert len(KubeflowV1().validate(document)) == 1


def test_deep_template_is_rejected_and_still_decoded() -> None:
    deep: Any = 0
    for _ in range(50_000):
        deep = {"a": deep}
    document = manifest()
    document["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["deep"] = deep
    (fault,) = KubeflowV1().validate(document)
    assert "levels" in fault.text
    assert isinstance(KubeflowV1().decode(document, Settings()), Job)


@pytest.mark.parametrize(
    "odd",
    [{1: "a"}, {None: "a"}, {True: "a"}, float("nan"), float("-inf"), b"raw", {(1, 2): 3}],
    ids=repr,
)
def test_what_only_yaml_can_say_is_rejected(odd: object) -> None:
    document = manifest()
    document["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["odd"] = odd
    (fault,) = KubeflowV1().validate(document)
    assert fault.path == "spec.tfReplicaSpecs.Worker.template.spec.odd"


@pytest.mark.parametrize("key", [1, True, None, 1.5])
def test_type_that_is_no_text_is_rejected(key: object) -> None:
    document = manifest()
    document["spec"]["tfReplicaSpecs"][key] = None
    assert [fault.path for fault in KubeflowV1().validate(document)] == ["spec.tfReplicaSpecs"]
    assert not isinstance(KubeflowV1().decode(document, Settings()), Job)


@pytest.mark.parametrize("dialect", [KubeflowV1(), KubeflowV1beta1()])
@given(given_job=manifests(), first=JSON | STATUSES, then=JSON | STATUSES, flags=SETTINGS)
def test_decoded_job_with_another_status_is_the_job_decoded_anew(
    dialect: Any, given_job: dict[str, Any], first: Any, then: Any, flags: Settings
) -> None:
    known = dialect.decode({**given_job, "status": first}, flags)
    assert isinstance(known, Job)
    later = {**given_job, "status": then}
    assert dialect.with_status(known, later) == dialect.decode(later, flags, is_checked=True)
