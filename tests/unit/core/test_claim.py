"""Which objects a job keeps, adopts, releases or ignores."""

import msgspec
import pytest

from tests.support.builders import a_job, meta
from tfjob.core.claim import Claim, claim_of
from tfjob.core.job import Job
from tfjob.k8s.meta import ObjectMeta

JOB = a_job("W2")
LEAVING = msgspec.structs.replace(JOB, is_deleting=True)
OWN = meta("j-worker-0", role="worker", index=0)
FOREIGN = meta("j-worker-0", role="worker", index=0, owner="another")
ORPHAN = meta("j-worker-0", role="worker", index=0, owner=None)


def of_another_job(found: ObjectMeta) -> ObjectMeta:
    """The same object with another job's label."""
    labels = {**found.labels, "training.kubeflow.org/job-name": "other"}
    return msgspec.structs.replace(found, labels=labels)


@pytest.mark.scenario(49, 130)
@pytest.mark.parametrize(
    ("job", "found", "expected"),
    [
        pytest.param(JOB, OWN, Claim.KEEP, id="own-and-matching"),
        pytest.param(JOB, of_another_job(OWN), Claim.RELEASE, id="own-but-not-matching"),
        pytest.param(LEAVING, of_another_job(OWN), Claim.KEEP, id="nothing-released-when-deleting"),
        pytest.param(JOB, FOREIGN, Claim.IGNORE, id="another-controllers"),
        pytest.param(JOB, ORPHAN, Claim.ADOPT, id="orphan"),
        pytest.param(JOB, of_another_job(ORPHAN), Claim.IGNORE, id="orphan-of-another-job"),
        pytest.param(LEAVING, ORPHAN, Claim.IGNORE, id="nothing-adopted-when-deleting"),
        pytest.param(
            JOB,
            meta("x", role="worker", index=0, owner=None, deleted=-5),
            Claim.IGNORE,
            id="orphan-on-its-way-out",
        ),
    ],
)
def test_owner_labels_and_deletion_decide_whose_an_object_is(
    job: Job, found: ObjectMeta, expected: Claim
) -> None:
    assert claim_of(job, found) is expected


@pytest.mark.parametrize("job", [JOB, LEAVING])
@pytest.mark.parametrize("found", [OWN, of_another_job(OWN), ORPHAN])
def test_objects_of_other_namespaces_are_ignored(job: Job, found: ObjectMeta) -> None:
    assert claim_of(job, msgspec.structs.replace(found, namespace="evil")) is Claim.IGNORE


@pytest.mark.parametrize(
    ("role", "index"),
    [
        ("launcher", 0),
        (None, 0),
        ("worker", None),
        ("worker", "-1"),
        ("worker", "²"),
        pytest.param("worker", "0000000001", id="index-too-long-to-be-read"),
    ],
)
def test_orphan_without_a_known_type_and_index_is_not_adopted(
    role: str | None, index: str | None
) -> None:
    assert claim_of(JOB, meta("x", role=role, index=index, owner=None)) is Claim.IGNORE
