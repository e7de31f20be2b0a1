"""A tenant with rights in its own namespace only cannot hurt another tenant, whatever it stores."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.support.environment_fixtures import only_kubernetes
from tests.support.fake_kubelet.driver import runs
from tests.support.job_fixture import JobFixture, counts_of
from tests.support.tenant import Tenant, tenant_in
from tests.support.tfjobs import container, replica, tfjob
from tfjob.core.job import FINALIZER

Json = dict[str, Any]
Attack = Callable[[Tenant, Json], Awaitable[None]]
LABELS = "training.kubeflow.org"


def labels(job: str = "j", role: str = "worker", index: str = "0") -> dict[str, str]:
    return {
        f"{LABELS}/operator-name": "tfjob-controller",
        f"{LABELS}/job-name": job,
        f"{LABELS}/replica-type": role,
        f"{LABELS}/replica-index": index,
    }


def a_pod(name: str, **metadata: Any) -> Json:
    spec = {"containers": [container()], "restartPolicy": "Never"}
    return {"metadata": {"name": name, **metadata}, "spec": spec}


def owner(victim: Json) -> Json:
    meta = victim["metadata"]
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


async def spoofed_owner(evil: Tenant, victim: Json) -> None:
    """Children of another tenant's job, one of which has succeeded and stays."""
    kept = {"labels": labels(), "ownerReferences": [owner(victim)], "finalizers": ["evil/keep"]}
    for index in range(3):
        pod = a_pod(f"j-worker-{index}", **kept)
        pod["metadata"]["labels"] = labels(index=str(index))
        await evil.call("POST", f"{evil.core}/pods", pod)
    ended = {"exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z"}
    status = {"name": "tensorflow", "state": {"terminated": ended}, "restartCount": 99}
    blank = {"image": "x", "imageID": "", "ready": False}
    body = {"status": {"phase": "Succeeded", "containerStatuses": [{**status, **blank}]}}
    await evil.tries("PATCH", f"{evil.core}/pods/j-worker-0/status", body)
    service = {"metadata": {"name": "j-worker-0", **kept}, "spec": {"ports": [{"port": 1}]}}
    await evil.call("POST", f"{evil.core}/services", service)


async def foreign_labels(evil: Tenant, victim: Json) -> None:
    """Orphans that carry the labels of a job of another namespace, and odd indexes."""
    for number, index in enumerate(("0", "00", "-1", "1e9", "9" * 63, "", "x")):
        meta = {"labels": labels(victim["metadata"]["name"], index=index)}
        await evil.tries("POST", f"{evil.core}/pods", a_pod(f"orphan-{number}", **meta))


async def large_annotations(evil: Tenant, _: Json) -> None:
    """256 KiB of annotations, on a job and on its template, again and again."""
    for number in range(6):
        job = tfjob("W1", name=f"big-{number}")
        notes = {f"evil/{part}": "x" * 60_000 for part in range(4)}
        job["metadata"]["annotations"] = notes
        job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["metadata"] = {"annotations": notes}
        assert await evil.tries("POST", evil.jobs, job) == 200


async def long_names(evil: Tenant, _: Json) -> None:
    for length in (40, 52, 53, 54, 63, 64, 200, 253):
        for name in ("a" * length, f"a.{'b' * (length - 2)}", f"{'1' * (length - 1)}a"):
            await evil.tries("POST", evil.jobs, tfjob("W1", name=name))


async def quick_edits(evil: Tenant, _: Json) -> None:
    """A job that is edited 20 times a second and scaled to and fro."""
    await evil.call("POST", evil.jobs, tfjob("W2", name="busy", restart="OnFailure"))
    for number in range(60):
        count = 1 + number % 3
        specs = {"Worker": {"replicas": count}}
        patch = {"metadata": {"labels": {"n": str(number)}}, "spec": {"tfReplicaSpecs": specs}}
        await evil.tries("PATCH", f"{evil.jobs}/busy", patch)
        await asyncio.sleep(0.05)


async def wide_jobs(evil: Tenant, _: Json) -> None:
    """2,000 replicas each, of which a quota lets 5 be."""
    for number in range(4):
        await evil.call("POST", evil.jobs, tfjob("W2000", name=f"w{number}", restart="OnFailure"))


async def operators_finalizer(evil: Tenant, _: Json) -> None:
    """Pods that carry the operator's finalizer, of no job, of a gone one, and in a template."""
    meta = {"finalizers": [FINALIZER], "labels": labels("nobody")}
    for number in range(20):
        await evil.call("POST", f"{evil.core}/pods", a_pod(f"held-{number}", **meta))
        await evil.call("DELETE", f"{evil.core}/pods/held-{number}")
    job = tfjob("W2", name="template")
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["metadata"] = {"finalizers": [FINALIZER]}
    await evil.call("POST", evil.jobs, job)


async def status_by_hand(evil: Tenant, _: Json) -> None:
    """A verdict that the tenant writes itself, on creation and later."""
    done = {"type": "Succeeded", "status": "True", "reason": "x", "message": "x"}
    job = {**tfjob("W1", name="liar"), "status": {"conditions": [done]}}
    made = await evil.call("POST", evil.jobs, job)
    assert "status" not in made
    assert await evil.tries("PUT", f"{evil.jobs}/liar/status", {**made, **job}) == 403
    assert await evil.tries("PATCH", f"{evil.jobs}/liar/status", {"status": {}}) == 403


async def squatting(evil: Tenant, _: Json) -> None:
    """The names of a job's children are taken before it comes."""
    for index in range(30):
        await evil.call("POST", f"{evil.core}/pods", a_pod(f"sq-worker-{index}"))
        name = {"metadata": {"name": f"sq-worker-{index}"}}
        await evil.call("POST", f"{evil.core}/services", {**name, "spec": {"ports": [{"port": 1}]}})
    await evil.call("POST", evil.jobs, tfjob("W30", name="sq", restart="OnFailure"))


async def odd_text(evil: Tenant, _: Json) -> None:
    """Control characters, lone surrogates, right-to-left marks and long lines."""
    odd = "\u0000\u001b[31m\u202e\U0001f600\ud800" + "x" * 5000
    job = tfjob("W1", name="odd")
    job["metadata"]["annotations"] = {"evil": odd}
    template = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    template["containers"][0] |= {"env": [{"name": "A", "value": odd}], "image": odd}
    await evil.tries("POST", evil.jobs, job)
    template["containers"][0] |= {"image": "x", "workingDir": odd, "args": [odd]}
    await evil.tries("POST", evil.jobs, {**job, "metadata": {"name": "odd-2"}})


async def odd_numbers(evil: Tenant, _: Json) -> None:
    """Numbers as text, halves, and numbers that fit no machine word."""
    fields = ("replicas", "restartPolicy")
    for number, value in enumerate(("3", "0x10", 2.5, -1, 2**31, 2**63, 10**30, 1e300, True)):
        for field in fields:
            job = tfjob("W1", name=f"n{number}-{field.lower()}")
            job["spec"]["tfReplicaSpecs"]["Worker"][field] = value
            await evil.tries("POST", evil.jobs, job)
        policies = ("backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
        for field in policies:
            job = tfjob("W1", name=f"n{number}-{field.lower()}", run_policy={field: value})
            await evil.tries("POST", evil.jobs, job)
        job = tfjob("W1", name=f"n{number}-grace")
        template = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
        template["terminationGracePeriodSeconds"] = value
        template["containers"][0]["ports"] = [{"name": "tfjob-port", "containerPort": value}]
        await evil.tries("POST", evil.jobs, job)


async def expansions(evil: Tenant, _: Json) -> None:
    """Variables that double one another, and a megabyte of environment."""
    doubling = [{"name": f"V{n}", "value": f"$(V{n - 1})$(V{n - 1})"} for n in range(1, 200)]
    env = [{"name": "V0", "value": "x" * 100}, *doubling]
    job = tfjob("W2", name="doubling")
    job["spec"]["tfReplicaSpecs"] = {"Worker": replica(2, containers=[container(env=env)])}
    await evil.call("POST", evil.jobs, job)
    huge = [{"name": f"H{n}", "value": "x" * 10_000} for n in range(100)]
    job = tfjob("W2", name="huge")
    job["spec"]["tfReplicaSpecs"] = {"Worker": replica(2, containers=[container(env=huge)])}
    await evil.tries("POST", evil.jobs, job)


async def deep_objects(evil: Tenant, _: Json) -> None:
    """Far deeper than a parser bears, where the definition keeps unknown content."""
    value: Any = 1
    for _level in range(300):
        value = {"a": [value]}
    job = tfjob("W1", name="deep")
    template = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    template["affinity"] = value
    await evil.tries("POST", evil.jobs, job)


async def event_spam(evil: Tenant, _: Json) -> None:
    """Events in the operator's name, and a job that gives reason for many."""
    made = await evil.call("POST", evil.jobs, tfjob("W1", name="spam"))
    about = {key: made["metadata"][key] for key in ("name", "namespace", "uid")}
    for number in range(100):
        event = {
            "metadata": {"name": f"spam.{number}"},
            "involvedObject": {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", **about},
            "source": {"component": "tfjob-controller"},
            "reason": "TFJobSucceeded",
            "message": "x" * 900,
            "type": "Normal",
        }
        await evil.tries("POST", f"{evil.core}/events", event)
    job = tfjob("W50", name="refused", restart="OnFailure")
    template = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    template["priorityClassName"] = "no-such-class"
    await evil.call("POST", evil.jobs, job)


async def colliding_selectors(evil: Tenant, _: Json) -> None:
    """Jobs whose names are those of other jobs' children, and pods that match them all."""
    for name in ("j", "j-worker", "j-worker-0", "j-worker-0-worker-0"):
        await evil.call("POST", evil.jobs, tfjob("W1", name=name, restart="OnFailure"))
    for number in range(10):
        meta = {"labels": labels("j"), "finalizers": ["evil/keep"]}
        await evil.call("POST", f"{evil.core}/pods", a_pod(f"twin-{number}", **meta))


async def foreign_metadata(evil: Tenant, victim: Json) -> None:
    """A template that names another namespace, owner and name for its pods."""
    job = tfjob("W1", name="runaway")
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["metadata"] = {
        "namespace": victim["metadata"]["namespace"],
        "name": "j-worker-0",
        "ownerReferences": [owner(victim)],
        "labels": labels("j"),
    }
    await evil.tries("POST", evil.jobs, job)


async def same_name_again(evil: Tenant, _: Json) -> None:
    """One name, deleted and made again as fast as it goes, kept by a finalizer at the end."""
    for _turn in range(20):
        await evil.tries("POST", evil.jobs, tfjob("W3", name="again"))
        await evil.tries("DELETE", f"{evil.jobs}/again")
    job = tfjob("W1", name="stuck")
    job["metadata"]["finalizers"] = ["evil/keep"]
    await evil.call("POST", evil.jobs, job)
    await evil.call("DELETE", f"{evil.jobs}/stuck")


ATTACKS: tuple[Attack, ...] = (
    spoofed_owner,
    foreign_labels,
    large_annotations,
    long_names,
    quick_edits,
    wide_jobs,
    operators_finalizer,
    status_by_hand,
    squatting,
    odd_text,
    odd_numbers,
    expansions,
    deep_objects,
    event_spam,
    colliding_selectors,
    foreign_metadata,
    same_name_again,
)


async def limit_pods(fixture: JobFixture, namespace: str) -> None:
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "60"}}}
    await fixture.call("POST", f"/api/v1/namespaces/{namespace}/resourcequotas", quota)


async def free(fixture: JobFixture, evil: Tenant) -> None:
    """Take away what would keep the tenant's namespace from going."""
    for kind in ("pods", "services"):
        for each in (await fixture.call("GET", f"{evil.core}/{kind}"))["items"]:
            if "evil/keep" in each["metadata"].get("finalizers", ()):
                path = f"{evil.core}/{kind}/{each['metadata']['name']}"
                await evil.tries("PATCH", path, {"metadata": {"finalizers": None}})
    for each in (await fixture.call("GET", evil.jobs))["items"]:
        if each["metadata"].get("finalizers"):
            path = f"{evil.jobs}/{each['metadata']['name']}"
            await evil.tries("PATCH", path, {"metadata": {"finalizers": None}})


async def is_none_held(fixture: JobFixture, evil: Tenant) -> bool:
    pods = (await fixture.call("GET", f"{evil.core}/pods"))["items"]
    return not any(FINALIZER in each["metadata"].get("finalizers", ()) for each in pods)


@only_kubernetes
@pytest.mark.parametrize("attack", ATTACKS, ids=[each.__name__ for each in ATTACKS])
async def test_other_tenants_job_runs_and_ends_as_if_nothing_had_happened(
    fixture: JobFixture, attack: Attack
) -> None:
    operator = fixture.env.operator
    pid, before = operator.pid, operator.log.read_text().count('"reconcile failed"')
    fixture.kubelet.script("*", runs)
    victim = await fixture.submit("W2", restart="OnFailure", run_policy={"backoffLimit": 1})
    await fixture.reaches("Created", "Running")
    uids = {name: pod["metadata"]["uid"] for name, pod in (await fixture.pods()).items()}
    async with tenant_in(fixture.env) as evil:
        await limit_pods(fixture, evil.namespace)
        await attack(evil, victim)
        await fixture.submit("C1 W1", name="k", restart="OnFailure")
        await fixture.reaches("Created", "Running", name="k")
        await fixture.settled()
        found = {name: pod["metadata"]["uid"] for name, pod in (await fixture.pods()).items()}
        assert uids.items() <= found.items()
        assert counts_of(await fixture.job()) == {"active": 2}
        for name in ("j-worker-1", "j-worker-0", "k-chief-0"):
            await fixture.kubelet.finish(name, exit_code=0)
        for name in ("j", "k"):
            job = await fixture.comes_to("Succeeded", name=name)
            assert job["status"]["replicaStatuses"]["Worker"].get("restarts", 0) == 0
        await free(fixture, evil)
        await fixture.eventually("no pod is held", lambda: is_none_held(fixture, evil))
    assert (operator.pid, operator.is_alive) == (pid, True)
    assert operator.log.read_text().count('"reconcile failed"') == before
