"""What the numbers are while a job rests, and after."""

from tests.support.builders import NOW
from tfjob.core import suspend_counts
from tfjob.core.status import JobStatus, PodRecord, ReplicaStatus

BUSY = ReplicaStatus(
    active=2,
    succeeded=1,
    failed=3,
    restarts=4,
    completed=frozenset({1}),
    records=(PodRecord(index=0, uid="u", streak=2, at=NOW),),
    selector="s",
)


def test_while_resting_nothing_is_active_and_the_rest_is_kept() -> None:
    rested = suspend_counts.resting(
        JobStatus(replicas={"Worker": BUSY}, start_time=NOW), ["Worker"]
    )
    assert rested.of("Worker") == ReplicaStatus(
        succeeded=1, failed=3, restarts=4, completed=frozenset({1}), selector="s"
    )
    assert rested.start_time == NOW


def test_while_resting_every_type_of_the_spec_has_an_entry_and_no_other() -> None:
    rested = suspend_counts.resting(JobStatus(replicas={"PS": BUSY}), ["Worker"])
    assert rested.replicas == {"Worker": ReplicaStatus()}


def test_at_resumption_only_restarts_are_remembered() -> None:
    status = suspend_counts.restarted(JobStatus(replicas={"Worker": BUSY}, start_time=NOW))
    assert status.replicas == {"Worker": ReplicaStatus(restarts=4, selector="s")}
    assert status.start_time == NOW
