"""Predicates on changes of children."""

import msgspec

from tests.support.builders import a_pod
from tfjob.controller import predicates
from tfjob.k8s.child_types import Service
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import Pod, PodSpec

PENDING, RUNNING, FAILED = (a_pod(phase=each) for each in ("Pending", "Running", "Failed"))
NEW = msgspec.structs.replace(PENDING, spec=PodSpec())


def test_end_or_deletion_of_a_child_is_not_routine() -> None:
    assert predicates.is_routine(PENDING)
    assert predicates.is_routine(RUNNING)
    assert predicates.is_routine(Service(metadata=PENDING.metadata))
    for other in (FAILED, a_pod(phase="Succeeded"), a_pod(phase="Running", deleted=-5), None):
        assert not predicates.is_routine(other)


def test_known_pod_that_did_not_run_started_running() -> None:
    assert predicates.started_running(PENDING, RUNNING)
    for old, new in ((None, RUNNING), (RUNNING, RUNNING), (PENDING, PENDING), (PENDING, None)):
        assert not predicates.started_running(old, new)


def test_pod_that_ends_or_is_deleted_frees_its_node() -> None:
    for new in (FAILED, a_pod(phase="Succeeded"), None):
        assert predicates.gave_up_node(RUNNING, new)
    unplaced = a_pod(phase="Pending", node="")
    for old, later in ((unplaced, None), (RUNNING, RUNNING), (FAILED, None), (None, RUNNING)):
        assert not predicates.gave_up_node(old, later)


def test_new_owned_child_without_a_status_was_created() -> None:
    assert predicates.was_created(None, NEW)
    assert predicates.was_created(None, Service(metadata=NEW.metadata))
    orphan = Pod(metadata=ObjectMeta(name="p"))
    placed = msgspec.structs.replace(NEW, spec=PodSpec(node_name="node"))
    for old, new in ((NEW, NEW), (None, orphan), (None, placed), (None, RUNNING), (NEW, None)):
        assert not predicates.was_created(old, new)
