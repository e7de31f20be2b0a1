"""Recovery mode Group beside a scale-down: a new replica meets no old one, even if that is gone
from the spec."""

import msgspec

from tests.support.builders import Passes, a_pod, at, created_names, deleted_names, manifest, pods
from tests.unit.core.group_passes import failed, records, running
from tfjob.core.scheduling_spec import QUEUE_FINALIZER, QUEUE_MARK
from tfjob.dialects.job_annotations import RECOVERY
from tfjob.k8s.pod import Pod


def scaled_to_two() -> Passes:
    """Worker 1 of three is lost, all are restarted, and meanwhile a user removes worker 2."""
    passes = running()
    passes.go(*pods(worker="R-R"), failed("worker", 1, 137, 2), now=at(3))
    fewer = manifest("W2", restart="ExitCode", annotations={RECOVERY: "Group"})
    passes.edit(fewer)
    return passes


def test_the_group_waits_for_the_old_pod_of_a_member_that_was_scaled_down() -> None:
    passes = scaled_to_two()
    going = a_pod("worker", 2, deleted=3)
    assert created_names(passes.go(going, now=at(5)), "Pod") == []
    assert created_names(passes.go(going, now=at(6)), "Pod") == []
    assert created_names(passes.go(now=at(9)), "Pod") == ["j-worker-0", "j-worker-1"]


def test_a_surplus_pod_that_was_no_member_holds_nobody_up() -> None:
    passes = scaled_to_two()
    another = a_pod("worker", 2, uid="another", deleted=3)
    assert created_names(passes.go(another, now=at(5)), "Pod") == ["j-worker-0", "j-worker-1"]


def test_a_surplus_pod_that_only_a_queue_keeps_holds_nobody_up() -> None:
    passes = scaled_to_two()
    kept = queued(a_pod("worker", 2, "Failed", exit_code=143, deleted=3))
    assert created_names(passes.go(kept, now=at(5)), "Pod") == ["j-worker-0", "j-worker-1"]


def queued(pod: Pod) -> Pod:
    given = msgspec.structs.replace(
        pod.metadata, finalizers=[QUEUE_FINALIZER], annotations={QUEUE_MARK: ""}
    )
    return msgspec.structs.replace(pod, metadata=given)


def test_a_member_that_had_succeeded_before_it_was_scaled_down_holds_nobody_up() -> None:
    passes = running()
    passes.go(*pods(worker="R-R"), failed("worker", 1, 137, 2), now=at(3))
    done = a_pod("worker", 2, "Succeeded", exit_code=0)
    passes.go(done, now=at(4))
    assert passes.job.status.of("Worker").completed == frozenset({2})
    assert "uid-j-worker-2" in records(passes)
    fewer = manifest("W2", restart="ExitCode", annotations={RECOVERY: "Group"})
    passes.edit(fewer)
    assert created_names(passes.go(done, now=at(5)), "Pod") == ["j-worker-0", "j-worker-1"]


def without_chief() -> Passes:
    """Worker 0 is lost, all are restarted, and meanwhile a user removes the chief."""
    passes = running("C1 W2", pods(chief="R", worker="RR"))
    passes.go(*pods(chief="R", worker="-R"), failed("worker", 0, 137, 2), now=at(3))
    fewer = manifest("W2", restart="ExitCode", annotations={RECOVERY: "Group"})
    passes.edit(fewer)
    return passes


def test_the_group_waits_for_the_old_pod_of_a_type_that_was_removed() -> None:
    passes = without_chief()
    plan = passes.go(*pods(chief="R"), now=at(4))
    assert (created_names(plan, "Pod"), deleted_names(plan, "Pod")) == ([], ["j-chief-0"])
    going = a_pod("chief", 0, deleted=4)
    assert created_names(passes.go(going, now=at(5)), "Pod") == []
    assert created_names(passes.go(going, now=at(6)), "Pod") == []
    assert created_names(passes.go(now=at(9)), "Pod") == ["j-worker-0", "j-worker-1"]


def test_a_pod_of_a_removed_type_that_has_ended_holds_nobody_up() -> None:
    passes = without_chief()
    ended = a_pod("chief", 0, "Failed", exit_code=143, deleted=3)
    assert created_names(passes.go(ended, now=at(5)), "Pod") == ["j-worker-0", "j-worker-1"]
