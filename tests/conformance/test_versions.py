"""Jobs in the form of older documents, and the job counters."""

from typing import Any

import pytest
import yaml

from tests.support.fake_kubelet.driver import exits, runs
from tests.support.job_fixture import JobFixture, conditions_of, counts_of
from tests.support.tfjobs import of_types, replica, tfjob

Json = dict[str, Any]


def old(job: Json) -> Json:
    return {**job, "apiVersion": "kubeflow.org/v1beta1"}


@pytest.mark.scenario(40, 135)
async def test_lone_master_of_v1beta1_is_run_and_decides(fixture: JobFixture) -> None:
    await fixture.create(old(of_types(MASTER=replica(1, restartPolicy="OnFailure"))))
    pod = await fixture.kubelet.appears("j-master-0")
    await fixture.children("j-master-0")
    assert pod["metadata"]["labels"]["training.kubeflow.org/job-role"] == "master"
    assert pod["spec"]["restartPolicy"] == "Never"
    assert "env" not in pod["spec"]["containers"][0]
    assert pod["metadata"]["ownerReferences"][0]["apiVersion"] == "kubeflow.org/v1"
    await fixture.event("SetPodTemplateRestartPolicy", kind="Warning")
    stored = await fixture.job()
    assert stored["spec"]["cleanPodPolicy"] == "Running"
    await fixture.kubelet.run(pod)
    await fixture.kubelet.finish(pod, exit_code=0)
    await fixture.comes_to("Succeeded")


@pytest.mark.scenario(135)
async def test_v1beta1_warns_and_cleans_up_what_runs(fixture: JobFixture) -> None:
    path = await _written(fixture, old(tfjob("P1 W1")))
    said = fixture.env.kubectl("create", "-n", fixture.namespace, "-f", path)
    assert "kubeflow.org/v1beta1 TFJob is deprecated; use kubeflow.org/v1 TFJob" in said
    fixture.kubelet.script("j-ps-0", runs)
    fixture.kubelet.script("j-worker-0", runs)
    await fixture.until("ps runs", lambda job: counts_of(job, "PS") == {"active": 1})
    await fixture.kubelet.finish(await fixture.kubelet.run("j-worker-0"), exit_code=0)
    await fixture.comes_to("Succeeded")
    await fixture.children("j-worker-0")


@pytest.mark.scenario(136)
async def test_limits_at_the_top_of_the_spec_of_v1beta1_are_obeyed(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs, exits(0))
    await fixture.create(old(tfjob("W1", cleanPodPolicy="All", ttlSecondsAfterFinished=1)))
    await fixture.gone()
    await fixture.event("TFJobSucceeded")
    await fixture.event("SuccessfulDeletePod", "Deleted pod: j-worker-0")


@pytest.mark.scenario(137)
@pytest.mark.parametrize(("policy", "left"), [(None, ["j-worker-0"]), ("All", [])])
async def test_policy_under_run_policy_wins_over_its_older_twin(
    fixture: JobFixture, policy: str | None, left: list[str]
) -> None:
    fixture.kubelet.script("*", runs, exits(0))
    run_policy = {"cleanPodPolicy": policy} if policy else None
    await fixture.submit("W1", cleanPodPolicy="None", run_policy=run_policy)
    await fixture.comes_to("Succeeded")
    await fixture.settled()
    await fixture.children(*left)


@pytest.mark.scenario(138)
async def test_no_version_loses_a_field_of_another(fixture: JobFixture) -> None:
    policy = {"suspend": True, "schedulingPolicy": {"minAvailable": 1, "queue": "q"}}
    job = tfjob("W2", successPolicy="AllWorkers", enableDynamicWorker=True, run_policy=policy)
    made = await fixture.create(job)
    await fixture.reaches("Created", "Suspended")
    path = f"{fixture.jobs_path('v1beta1')}/j"
    as_old = await fixture.call("GET", path)
    assert as_old["apiVersion"] == "kubeflow.org/v1beta1"
    as_old["metadata"].setdefault("labels", {})["touched"] = "yes"
    as_old["spec"].pop("cleanPodPolicy", None)
    await fixture.call("PUT", path, as_old)
    again = await fixture.job()
    again["spec"].pop("cleanPodPolicy", None)
    assert again["spec"] == made["spec"]


@pytest.mark.scenario(139)
async def test_published_documents_are_taken_and_shown_as_printed(fixture: JobFixture) -> None:
    resources = {"limits": {"nvidia.com/gpu": 1}}
    args = [
        "python",
        "tf_cnn_benchmarks.py",
        "--batch_size=32",
        "--variable_update=parameter_server",
    ]
    worker = replica(1, restartPolicy="OnFailure")
    worker["template"]["spec"]["containers"][0] |= {"args": args, "resources": resources}
    job = of_types(PS=replica(1, restartPolicy="OnFailure"), Worker=worker)
    job["metadata"] = {"generateName": "tfjob-"}
    made = await fixture.create(job)
    name = made["metadata"]["name"]
    await fixture.reaches("Created", name=name)
    shown = fixture.env.kubectl("get", "tfjobs", "-n", fixture.namespace).splitlines()
    assert shown[0].split() == ["NAME", "STATE", "AGE"]
    assert shown[1].split()[:2] == [name, "Created"]


@pytest.mark.scenario(140, "R47")
async def test_counters_equal_the_jobs_also_after_a_restart(fixture: JobFixture) -> None:
    operator = fixture.env.operator
    fixture.kubelet.script("good-worker-0", runs, exits(137, 0))
    fixture.kubelet.script("bad-worker-0", runs, exits(1))
    await fixture.submit("W1", name="good", restart="ExitCode")
    await fixture.submit("W1", name="bad", run_policy={"backoffLimit": 0})
    await fixture.comes_to("Succeeded", name="good")
    await fixture.comes_to("Failed", name="bad")
    wanted = {"created": 2, "successful": 1, "failed": 1, "restarted": 1, "deleted": 0}

    def counted() -> dict[str, int]:
        return {what: operator.jobs_counted(what, fixture.namespace) for what in wanted}

    async def is_counted() -> bool:
        return counted() == wanted

    await fixture.eventually(f"the counters are {wanted}", is_counted, name="good")
    operator.restart()
    await fixture.eventually(f"the counters are {wanted} again", is_counted, name="good")

    async def is_idle() -> bool:
        return operator.metrics()['workqueue_depth{name="tfjob-controller"}'] == 0

    await fixture.eventually("the operator has nothing to do", is_idle, name="good")
    assert operator.metrics()["tf_operator_is_leader"] == 1
    assert operator.probe("/healthz") == 200


async def test_pods_and_services_are_counted_once_each(fixture: JobFixture) -> None:
    operator = fixture.env.operator
    before = operator.metrics()
    await fixture.submit("P1 W2")
    await fixture.children("j-ps-0", "j-worker-0", "j-worker-1")
    await fixture.reaches("Created")
    after = operator.metrics()
    for name in ("created_pods_total", "succeeded_service_creation_total"):
        assert after[name] - before.get(name, 0) == 3
    assert conditions_of(await fixture.job()) == ["Created"]


async def _written(fixture: JobFixture, job: Json) -> str:
    """The job as a file, for kubectl."""
    path = fixture.env.server.folder / f"{fixture.namespace}.yaml"
    path.write_text(yaml.safe_dump(job))
    return str(path)
