"""The phases of a TfJob, from Creating to Done."""

import msgspec
import pytest

from tests.unit.dialects.tensorflow.jobs import (
    Life,
    a_pod,
    around,
    built,
    end,
    entry,
    example,
    set_up,
    tfjob,
    up,
)
from tfjob.core.observe import Children
from tfjob.k8s.child_types import BatchJobSpec
from tfjob.k8s.pod import ContainerState, ContainerStatus, Pod

CHIEF_0 = {"chief": {"replicaName": "WORKER", "replicaIndex": 0}}


def running(given: dict[str, object] | None = None) -> Life:
    """A job whose children all stand."""
    return Life(given or example()).go(Children()).go()


@pytest.mark.scenario("A-01")
def test_job_goes_from_creating_to_running() -> None:
    life = Life(example()).go(Children())
    assert life.shown == ("Creating", "Running")
    assert len(life.made()) == 9
    life.go()
    assert life.shown == ("Running", "Running")
    assert life.made() == []


def test_job_is_creating_until_every_child_stands() -> None:
    life = Life(example()).go(Children())
    life.go(around(life.job, missing=["Job/ps-76no-1"]))
    assert life.shown == ("Creating", "Running")
    life.go(around(life.job, missing=["Service/ps-76no-1"]))
    assert life.shown == ("Creating", "Running")
    life.go()
    assert life.shown == ("Running", "Running")


def test_running_job_does_not_go_back_to_creating() -> None:
    life = running()
    life.go(around(life.job, missing=["Job/worker-76no-0"]))
    assert life.shown == ("Running", "Running")
    assert life.made() == ["Job/worker-76no-0"]


def test_chief_of_unknown_state_changes_nothing() -> None:
    life = running()
    life.go(around(life.job, missing=["Job/master-76no-0"]))
    assert life.shown == ("Running", "Running")
    assert life.states()["MASTER"] == {"Unknown": 1}


@pytest.mark.scenario("A-10")
def test_chosen_chief_decides_alone() -> None:
    life = running(tfjob(entry("WORKER", 2), terminationPolicy=CHIEF_0))
    life.go(around(life.job, succeeded=["worker-76no-0"]))
    assert life.shown == ("Done", "Succeeded")
    assert life.status["replicaStatuses"] == [
        {
            "tf_replica_type": "WORKER",
            "state": "Running",
            "ReplicasStates": {"Running": 1, "Succeeded": 1},
        }
    ]


@pytest.mark.scenario("A-13")
def test_master_s_success_ends_the_job_and_the_others_stay() -> None:
    life = running()
    master = a_pod(state=end(0), phase="Succeeded")
    life.go(around(life.job, master, succeeded=["master-76no-0"]))
    assert {key: each for key, each in life.status.items() if key != "replicaSpecs"} == {
        "conditions": None,
        "controlPaused": False,
        "phase": "Done",
        "reason": "",
        "state": "Succeeded",
        "replicaStatuses": [
            {
                "ReplicasStates": {"Succeeded": 1},
                "state": "Succeeded",
                "tf_replica_type": "MASTER",
            },
            {"ReplicasStates": {"Running": 1}, "state": "Running", "tf_replica_type": "WORKER"},
            {"ReplicasStates": {"Running": 2}, "state": "Running", "tf_replica_type": "PS"},
        ],
    }
    assert not life.plan.deletes
    assert ("Normal", "JobSucceeded", "master-76no-0-aaaaa exited with code 0") in life.told()


@pytest.mark.scenario("A-14")
def test_master_that_exited_1_has_failed_although_it_was_restarted() -> None:
    life = running()
    life.go(around(life.job, a_pod(state=up(), last=end(1))))
    assert life.shown == ("Done", "Failed")
    assert life.states()["MASTER"] == {"Failed": 1}
    assert ("Warning", "JobFailed", "master-76no-0-aaaaa exited with code 1") in life.told()


@pytest.mark.parametrize("state", [up(), end(0), end(137)])
@pytest.mark.parametrize("succeeded", [(), ("master-76no-0",)])
def test_exit_1_of_the_master_decides_whatever_came_of_its_restart(
    state: ContainerState, succeeded: tuple[str, ...]
) -> None:
    life = running()
    life.go(around(life.job, a_pod(state=state, last=end(1)), succeeded=succeeded))
    assert life.shown == ("Done", "Failed")
    assert ("Warning", "JobFailed", "master-76no-0-aaaaa exited with code 1") in life.told()


def test_batch_job_of_a_master_that_failed_for_good_is_suspended_once() -> None:
    life = running()
    failed = around(life.job, a_pod(state=up(), last=end(1)), a_pod("WORKER"))
    life.go(failed)
    life.go(failed)
    assert [(each.kind, each.name, each.body) for each in life.plan.updates] == [
        ("Job", "master-76no-0", {"spec": {"suspend": True}})
    ]
    asleep = [
        msgspec.structs.replace(each, spec=BatchJobSpec(suspend=True)) for each in failed.jobs
    ]
    life.go(msgspec.structs.replace(failed, jobs=asleep))
    assert life.plan.updates == []


@pytest.mark.scenario("A-15")
def test_master_killed_with_137_continues() -> None:
    life = running()
    life.go(around(life.job, a_pod(state=up(), last=end(137))))
    assert life.shown == ("Running", "Running")
    assert life.states()["MASTER"] == {"Running": 1}


@pytest.mark.parametrize(
    ("code", "shown"),
    [(127, ("Done", "Failed")), (128, ("Running", "Running")), (255, ("Running", "Running"))],
)
def test_seed_001_line_199_codes_from_128_to_255_are_retried(
    code: int, shown: tuple[str, str]
) -> None:
    life = running()
    life.go(around(life.job, a_pod(state=up(), last=end(code))))
    assert life.shown == shown


@pytest.mark.scenario("A-16")
def test_master_that_ran_out_of_memory_has_failed() -> None:
    life = running()
    life.go(around(life.job, a_pod(state=up(), last=end(137, "OOMKilled"))))
    assert life.shown == ("Done", "Failed")


@pytest.mark.scenario("A-17")
def test_master_that_exited_with_0_has_succeeded_whatever_came_before() -> None:
    life = running()
    life.go(around(life.job, a_pod(state=end(0), last=end(143))))
    assert life.shown == ("Done", "Succeeded")


@pytest.mark.scenario("A-18")
def test_worker_that_fails_again_and_again_is_shown_and_the_job_runs_on() -> None:
    life = running()
    life.go(around(life.job, a_pod("WORKER", state=up(), last=end(1))))
    assert life.shown == ("Running", "Running")
    (shown,) = [
        each for each in life.status["replicaStatuses"] if each["tf_replica_type"] == "WORKER"
    ]
    assert (shown["state"], shown["ReplicasStates"]) == ("Failed", {"Failed": 1})
    job = built(example())["Job", "worker-76no-0"]
    assert job["spec"]["backoffLimit"] == 2147483647


@pytest.mark.scenario("A-19")
def test_failed_server_is_restarted_in_place_and_the_job_runs_on() -> None:
    life = running()
    life.go(around(life.job, a_pod("PS", 1, state=up(), last=end(1))))
    assert life.shown == ("Running", "Running")
    assert not life.plan.deletes
    pod = built(example())["Job", "ps-76no-1"]["spec"]["template"]["spec"]
    assert pod["restartPolicy"] == "OnFailure"


@pytest.mark.scenario("A-20")
def test_of_two_pods_the_newer_counts() -> None:
    life = running(tfjob(entry(), entry("WORKER")))
    older = a_pod("WORKER", state=up(), suffix="old", started="2026-01-02T03:00:00Z")
    newer = a_pod("WORKER", state=end(100), suffix="new", started="2026-01-02T03:00:09Z")
    life.go(around(life.job, newer, older))
    assert life.states()["WORKER"] == {"Failed": 1}
    master = a_pod(state=end(100), suffix="new", started="2026-01-02T03:00:09Z")
    life.go(around(life.job, a_pod(suffix="old"), master))
    assert life.shown == ("Done", "Failed")


@pytest.mark.scenario("A-20b")
def test_final_exit_counts_although_a_second_pod_was_created() -> None:
    life = running()
    first = a_pod(state=end(2), phase="Failed", suffix="one")
    second = a_pod(state=up(), suffix="two", started="2026-01-02T03:00:09Z")
    life.go(around(life.job, first, second))
    assert life.shown == ("Done", "Failed")


@pytest.mark.scenario("A-21")
def test_exit_of_a_sidecar_does_not_count() -> None:
    life = running()
    side = ContainerStatus(name="side", state=end(1))
    life.go(around(life.job, a_pod(state=end(0), others=[side])))
    assert life.shown == ("Done", "Succeeded")


@pytest.mark.scenario("A-27")
def test_next_operator_makes_no_child_twice_and_leaves_finished_jobs_alone() -> None:
    life = running()
    life.go()
    assert life.made() == []
    assert life.shown == ("Running", "Running")
    life.go(around(life.job, succeeded=["master-76no-0"]))
    before = dict(life.status)
    life.go(Children())
    assert life.made() == []
    assert not life.plan.deletes
    assert life.status == before


@pytest.mark.scenario("A-28")
def test_deleted_service_is_recreated_while_the_job_runs_and_not_afterwards() -> None:
    life = running()
    life.go(around(life.job, missing=["Service/ps-76no-0"]))
    assert life.made() == ["Service/ps-76no-0"]
    life.go(around(life.job, succeeded=["master-76no-0"]))
    life.go(around(life.job, succeeded=["master-76no-0"], missing=["Service/ps-76no-0"]))
    assert life.made() == []


@pytest.mark.scenario("A-30")
def test_rejected_child_is_reported_until_it_is_allowed() -> None:
    life = Life(example()).go(Children())
    found = around(life.job, missing=["Job/master-76no-0"])
    life.go(found, create_error="exceeded quota: q")
    assert life.shown == ("Creating", "Running")
    assert life.status["reason"] == "Could not create job resources; exceeded quota: q"
    life.go()
    assert life.shown == ("Running", "Running")
    assert life.status["reason"] == ""


@pytest.mark.scenario("A-33")
def test_clean_up_of_all_leaves_tensorboard_alone() -> None:
    given = example(tensorboard={"logDir": "d"})
    life = Life(given, set_up(clean_policy="All")).go(Children()).go()
    over = around(life.job, a_pod(state=end(0)), succeeded=["master-76no-0"])
    life.go(over)
    assert life.shown == ("CleanUp", "Succeeded")
    at_verdict = life.status["replicaStatuses"]
    life.go(over)
    gone = {f"{each.kind}/{each.name}" for each in life.plan.deletes}
    assert gone == {
        "Pod/master-76no-0-aaaaa",
        *(f"Job/{each.metadata.name}" for each in over.jobs),
        *(f"Service/{each.metadata.name}" for each in over.services if "ps-" in each.metadata.name),
        "Service/master-76no-0",
        "Service/worker-76no-0",
    }
    assert life.shown == ("CleanUp", "Succeeded")
    rest = around(life.job)
    left = Children(services=rest.services[-1:], companions=rest.companions)
    assert [each.metadata.name for each in left.services] == ["tensorboard-76no"]
    life.go(left)
    assert life.shown == ("Done", "Succeeded")
    assert not life.plan.deletes
    assert life.status["replicaStatuses"] == at_verdict


@pytest.mark.parametrize(
    ("master", "succeeded"),
    [
        (a_pod(state=end(0), phase="Succeeded"), ["master-76no-0"]),
        pytest.param(a_pod(state=end(0)), [], id="the phase lags behind the container"),
    ],
)
def test_clean_up_of_what_runs_keeps_what_has_succeeded(master: Pod, succeeded: list[str]) -> None:
    given = tfjob(entry(), entry("WORKER"))
    life = Life(given, set_up(clean_policy="Running")).go(Children()).go()
    both = around(life.job, master, a_pod("WORKER"), succeeded=succeeded)
    life.go(both)
    assert life.shown == ("CleanUp", "Succeeded")
    life.go(both)
    assert {f"{each.kind}/{each.name}" for each in life.plan.deletes} == {
        "Pod/worker-76no-0-aaaaa",
        "Job/worker-76no-0",
        "Service/worker-76no-0",
    }
    missing = ["Job/worker-76no-0", "Service/worker-76no-0"]
    life.go(around(life.job, master, succeeded=succeeded, missing=missing))
    assert life.shown == ("Done", "Succeeded")


def test_changed_naming_makes_no_replica_run_twice() -> None:
    life = Life(example()).go(Children()).go()
    there = around(life.job, a_pod())
    later = Life(example(), set_up(has_job_in_names=True))
    later.status = life.status
    later.go(there)
    assert not [each for each in later.made() if each.startswith("Job/")]
    assert later.shown == ("Running", "Running")
    there = around(life.job, a_pod(state=end(0)), succeeded=["master-76no-0"])
    assert later.go(there).shown == ("Done", "Succeeded")


def test_later_setting_takes_nothing_from_a_job_that_is_done() -> None:
    life = Life(example()).go(Children()).go()
    over = around(life.job, a_pod(state=end(0)), succeeded=["master-76no-0"])
    life.go(over)
    assert life.shown == ("Done", "Succeeded")
    later = Life(example(), set_up(clean_policy="All"))
    later.status = life.status
    later.go(over)
    assert later.plan.deletes == []
    assert later.status == life.status


def test_job_with_nothing_to_clean_up_is_done_at_once() -> None:
    life = Life(tfjob(entry()), set_up(clean_policy="Running")).go(Children()).go()
    master = a_pod(state=end(0), phase="Succeeded")
    life.go(around(life.job, master, succeeded=["master-76no-0"]))
    assert life.shown == ("Done", "Succeeded")
