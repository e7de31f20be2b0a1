"""Jobs in a queue of Kueue."""

from tests.support.builders import Passes, manifest, pods

QUEUE = "kueue.x-k8s.io/queue-name"


def queued(roles: str = "W3") -> Passes:
    given = manifest(roles)
    given["metadata"]["labels"] = {QUEUE: "team"}
    return Passes(given)


def test_a_job_in_a_queue_runs_once_all_its_replicas_do() -> None:
    """Kueue ends the wait for pods when the job is Running."""
    job = queued()
    job.go(*pods(worker="RRP"))
    assert job.conditions == ["Created"]
    job.go(*pods(worker="RRR"))
    assert job.conditions == ["Created", "Running"]
    job.go(*pods(worker="RRP"))
    assert job.conditions == ["Created", "Running"]


def test_a_job_outside_of_queues_runs_with_its_first_replica() -> None:
    job = Passes(manifest("W3"))
    job.go(*pods(worker="RPP"))
    assert job.conditions == ["Created", "Running"]
