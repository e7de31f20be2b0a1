"""The PodGroup backends of the T9k scheduler."""

import pytest

from tests.unit.dialects.tensorstack.jobs import DIALECT, decoded, training_job
from tests.unit.dialects.tensorstack.verdicts import T9K
from tfjob.dialects.base import Settings


def test_without_a_scheduler_there_is_no_gang() -> None:
    assert decoded(training_job()).gang is None


@pytest.mark.parametrize(
    ("backend", "name"),
    [
        ("t9k", "scheduler.tensorstack.dev/v1beta1/podgroups"),
        ("volcano", "scheduling.volcano.sh/v1beta1/podgroups"),
    ],
)
def test_pod_groups_of_a_backend_may_be_missing(backend: str, name: str) -> None:
    found = DIALECT.pod_groups(Settings(options={"t9k-pod-group-backend": backend}))
    assert found is not None
    assert (found.name, found.is_optional) == (name, True)
    gang = decoded(training_job(scheduler=T9K), options={"t9k-pod-group-backend": backend}).gang
    assert gang is not None
    assert gang.api_version == name.removesuffix("/podgroups")
    assert gang.waits_for_group
    assert gang.stays_with_pods


def test_volcano_gets_the_queue_and_its_own_marks() -> None:
    job = decoded(training_job("W3", scheduler=T9K), options={"t9k-pod-group-backend": "volcano"})
    assert job.gang is not None
    assert (job.gang.min_member, job.gang.fields) == (3, {"queue": "default"})
    assert job.gang.pod_annotations == {"scheduling.k8s.io/group-name": "j"}
    assert job.gang.pod_labels == {}
    assert job.replicas[0].template["spec"]["schedulerName"] == "volcano"


def test_no_backend_means_the_scheduler_of_the_cluster() -> None:
    assert DIALECT.pod_groups(Settings(options={"t9k-pod-group-backend": "none"})) is None
    job = decoded(training_job(scheduler=T9K), options={"t9k-pod-group-backend": "none"})
    assert job.gang is None
    assert "schedulerName" not in job.replicas[0].template["spec"]


def test_priority_is_none_where_it_is_not_given() -> None:
    job = decoded(training_job(scheduler={"t9kScheduler": {"queue": "q"}}))
    assert job.gang is not None
    assert job.gang.fields == {"queue": "q", "priority": 0}


def test_queue_too_long_for_a_label_is_cut_there_and_nowhere_else() -> None:
    long = "q" * 70
    job = decoded(training_job(scheduler={"t9kScheduler": {"queue": long}}))
    assert job.gang is not None
    assert job.gang.fields["queue"] == long
    assert job.gang.other_labels["scheduler.tensorstack.dev/queue"] == "q" * 63
