"""What is deleted of a finished job, and when its TTL expires."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.builders import NOW, a_batch_job, a_service, at, pods, services_of
from tfjob.core import cleanup
from tfjob.core.job import CleanPolicy
from tfjob.core.plan import Delete, Rule
from tfjob.core.pod_state import has_ended
from tfjob.k8s.pod import Pod

LETTERS = "PRUSFT"


def over(found: list[Pod]) -> set[str]:
    return {pod.metadata.uid for pod in found if has_ended(pod)}


def gone(policy: CleanPolicy, *, deletes_running: bool = False) -> tuple[list[int], list[int]]:
    """The indexes whose pods and whose services go."""
    found = pods(worker=LETTERS)
    going = cleanup.deletes_after_completion(
        policy,
        pods=found,
        services=[each.metadata for each in services_of(found)],
        ended=over(found),
        ended_by=Rule.BACKOFF_LIMIT if deletes_running else None,
    )
    return (
        [int(each.name[-1]) for each in going if each.kind == "Pod"],
        [int(each.name[-1]) for each in going if each.kind == "Service"],
    )


def test_clean_up_none_leaves_everything() -> None:
    assert gone(CleanPolicy.NONE) == ([], [])


@pytest.mark.parametrize(
    ("policy", "deletes_running"),
    [(CleanPolicy.RUNNING, False), (CleanPolicy.RUNNING, True), (CleanPolicy.NONE, True)],
)
def test_what_has_not_ended_goes_and_what_has_ended_stays(
    policy: CleanPolicy, deletes_running: bool
) -> None:
    assert gone(policy, deletes_running=deletes_running) == ([0, 1, 2], [0, 1, 2])


@pytest.mark.parametrize("deletes_running", [True, False])
def test_clean_up_all_takes_everything(deletes_running: bool) -> None:
    everything = [0, 1, 2, 3, 4]
    assert gone(CleanPolicy.ALL, deletes_running=deletes_running) == (everything, everything)


def test_only_the_very_child_that_was_seen_goes() -> None:
    (pod,) = pods(worker="R")
    (delete,) = cleanup.deletes_after_completion(
        CleanPolicy.ALL, pods=[pod], services=[], ended=set(), ended_by=None
    )
    assert delete == Delete(
        kind="Pod", name="j-worker-0", uid="uid-j-worker-0", rule=Rule.CLEAN_POD_POLICY
    )


def services_gone(policy: CleanPolicy, found: list[Pod], *, deletes_running: bool) -> list[str]:
    services = [a_service("worker", index).metadata for index in range(3)]
    going = cleanup.deletes_after_completion(
        policy,
        pods=found,
        services=services,
        ended=over(found),
        ended_by=Rule.BACKOFF_LIMIT if deletes_running else None,
    )
    return [each.name for each in going if each.kind == "Service"]


@pytest.mark.parametrize(
    ("policy", "deletes_running", "expected"),
    [
        (CleanPolicy.RUNNING, False, ["j-worker-1", "j-worker-2"]),
        (CleanPolicy.ALL, False, ["j-worker-0", "j-worker-1", "j-worker-2"]),
        (CleanPolicy.NONE, True, ["j-worker-1"]),
        (CleanPolicy.NONE, False, []),
    ],
)
def test_a_service_without_a_pod_goes_unless_clean_up_is_none(
    policy: CleanPolicy, deletes_running: bool, expected: list[str]
) -> None:
    found = pods(worker="SR")
    assert services_gone(policy, found, deletes_running=deletes_running) == expected


def test_the_service_of_a_pod_on_its_way_out_goes_with_it() -> None:
    assert services_gone(CleanPolicy.NONE, pods(worker="T"), deletes_running=True) == ["j-worker-0"]


@pytest.mark.parametrize(
    ("policy", "deletes_running", "expected"),
    [
        (CleanPolicy.NONE, False, []),
        (CleanPolicy.NONE, True, ["j-worker-1"]),
        (CleanPolicy.RUNNING, False, ["j-worker-1"]),
        (CleanPolicy.ALL, False, ["j-worker-0", "j-worker-1"]),
    ],
)
def test_batch_jobs_go_with_their_services_like_pods(
    policy: CleanPolicy, deletes_running: bool, expected: list[str]
) -> None:
    jobs = [a_batch_job("worker", 0, succeeded=1), a_batch_job("worker", 1)]
    going = cleanup.deletes_after_completion(
        policy,
        pods=[],
        jobs=jobs,
        services=[a_service("worker", index).metadata for index in (0, 1)],
        ended={jobs[0].metadata.uid},
        ended_by=Rule.BACKOFF_LIMIT if deletes_running else None,
    )
    assert [each.name for each in going if each.kind == "Job"] == expected
    assert [each.name for each in going if each.kind == "Service"] == expected


def test_a_job_expires_its_ttl_after_its_end() -> None:
    assert cleanup.expires_at(NOW, timedelta(seconds=5)) == at(5)
    assert cleanup.expires_at(NOW, timedelta(0)) == NOW
    assert cleanup.expires_at(None, timedelta(seconds=5)) is None
    assert cleanup.expires_at(NOW, None) is None


def test_an_end_at_the_end_of_the_calendar_is_no_error() -> None:
    last = datetime.max.replace(tzinfo=UTC)
    assert cleanup.expires_at(last, timedelta(seconds=5)) == last
