"""The operator uses all its permissions and sends no other request, by the server's audit log.

The operator runs with the account, the roles and the flags that the chart gives it, on a server
without streaming lists, which was the rule until lately, and with permissions on owner references
enforced, which some distributions do.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import permission_scenarios as scenarios
from tests.support.controlplane.cluster import ControlPlane
from tests.support.environments import Environment
from tests.support.fake_kubelet.driver import FakeKubelet, exits, runs
from tests.support.helm import (
    EVERY_DIALECT,
    NAME,
    ChartPlane,
    Helm,
    operator_of,
    started,
)
from tests.support.job_fixture import JobFixture, job_fixture_in
from tests.support.operator_process import OperatorProcess
from tests.support.tfjobs import container, of_types, replica
from tests.support.vendor_crds import POD_GROUPS, TENSORBOARDS, crd_of
from tfjob.client.resource import LEASES, Resource
from tfjob.controller.child_kinds import resource_of
from tfjob.dialects.kubeflow.scheduling_policy import KUBERNETES, SCHEDULER_PLUGINS, VOLCANO
from tfjob.manager.permissions import PERMISSIONS
from tfjob.manager.settings import LEASE_NAME

# The seconds bind what hangs: a busy machine, on which all is slow, is no fault of the operator.
pytestmark = pytest.mark.timeout(func_only=True)

Json = dict[str, Any]
Asked = tuple[str, str, str]
LABELS = "training.kubeflow.org"
HOLD = "example.invalid/hold"
COLLECTOR_LEARNS = 120.0
"""The cluster's garbage collector asks every 30 s which kinds there are, then fills a cache."""
_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
        {"level": "None"},
    ],
}
_GROUPS = {
    "volcano": resource_of(VOLCANO),
    "coscheduling": resource_of(SCHEDULER_PLUGINS),
    "kubernetes": Resource(KUBERNETES.group, "v1alpha2", KUBERNETES.plural),
}
_GATES = ("GenericWorkload=true", "GangScheduling=true")
_SERVED = f"--runtime-config={KUBERNETES.group}/v1alpha2=true"
"""What lets the API server serve PodGroups of its own; a CRD cannot join a group of Kubernetes."""
_NOT_YET = (KUBERNETES.group, KUBERNETES.plural, "patch")
"""Never sent: PodGroups of `v1alpha2` cannot be changed. Later versions are patched."""
_FINALIZERS = "/finalizers"
"""Never sent: the server itself asks for it, which the second test shows."""


class Audit:
    """What the operator's account has asked for, by the server's log."""

    def __init__(self, folder: Path) -> None:
        self._policy, self._log = folder / "audit-policy.yaml", folder / "audit.log"
        self._policy.write_text(yaml.safe_dump(_POLICY))

    def flags(self) -> tuple[str, ...]:
        return (f"--audit-policy-file={self._policy}", f"--audit-log-path={self._log}")

    def asked(self) -> set[Asked]:
        """Group, resource and verb of each request about an object."""
        return {_asked(each) for each in self._entries()}

    def refused(self) -> set[Asked]:
        """What was asked for without a right to it. Late news of a namespace that goes away is
        refused to everybody."""
        return {
            _asked(each)
            for each in self._entries()
            if each["responseStatus"].get("code") == 403
            and "because it is being terminated" not in each["responseStatus"].get("message", "")
        }

    def _entries(self) -> list[Json]:
        # The last line may still be being written. A question without an object, such as what the
        # server serves, is free to all.
        lines = self._log.read_text().rpartition("\n")[0].splitlines()
        return [
            each
            for each in map(json.loads, lines)
            if each["user"]["username"].endswith(f":{NAME}") and "objectRef" in each
        ]


def _asked(entry: Mapping[str, Any]) -> Asked:
    about = entry["objectRef"]
    parts = [about[key] for key in ("resource", "subresource") if key in about]
    return about.get("apiGroup", ""), "/".join(parts), entry["verb"]


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    return Audit(tmp_path_factory.mktemp("audit"))


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory, audit: Audit) -> Iterator[ChartPlane]:
    enforced = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"
    made = started(
        ChartPlane(
            folder=tmp_path_factory.mktemp("audited-plane"),
            feature_gates=("WatchList=false", *_GATES),
            apiserver_flags=(*audit.flags(), enforced, _SERVED),
        )
    )
    crds = [_group_crd(each) for each in _GROUPS.values() if not _is_native(each)]
    ControlPlane.install_crds(made, crds)
    priority = {"metadata": {"name": "high"}, "value": 1000}
    made.endpoint.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", priority)
    yield made
    made.stop()


def _group_crd(resource: Resource) -> Json:
    """PodGroups of a gang scheduler; what they hold is its own affair."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{resource.plural}.{resource.group}",
            # The group of scheduler-plugins is one that Kubernetes guards.
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": {"plural": resource.plural, "singular": "podgroup", "kind": "PodGroup"},
            "versions": [version],
        },
    }


async def test_each_permission_is_asked_for_and_nothing_is_missing(
    plane: ChartPlane, helm: Helm, home: str, chart_env: Environment, audit: Audit, tmp_path: Path
) -> None:
    await asyncio.to_thread(helm.install, EVERY_DIALECT, namespace=home)
    operator = operator_of(chart_env, plane, namespace=home)
    await asyncio.to_thread(operator.start)
    async with job_fixture_in(chart_env) as fixture:
        await _a_job_lives_and_is_cleared_away(fixture)
        await _orphans_are_adopted(fixture)
        await _names_are_taken(fixture, operator)
        await _a_pod_does_not_go_away(fixture, audit)
        await _a_pod_does_not_start(fixture, audit)
        await scenarios.old_job_fails_for_good(fixture)
        await _the_lease_is_lost(fixture, home, audit)
    await asyncio.to_thread(operator.stop)
    for scheduler, groups in _GROUPS.items():
        value = f"operator.gangSchedulerName={scheduler}"
        await asyncio.to_thread(helm.install, EVERY_DIALECT, value, namespace=home)
        operator = operator_of(chart_env, plane, namespace=home)
        await asyncio.to_thread(operator.start)
        async with job_fixture_in(chart_env) as fixture:
            await _a_gang_is_gathered(fixture, groups, audit)
        await asyncio.to_thread(operator.stop)
    await _other_apis_of_jobs_are_served(plane, home, chart_env, tmp_path)
    await asyncio.to_thread(helm.install, EVERY_DIALECT, "metrics.tokenReview=true", namespace=home)
    operator = operator_of(chart_env, plane, namespace=home)
    await asyncio.to_thread(operator.start)
    token = plane.token_for("default", namespace=home)
    assert [await asyncio.to_thread(operator.metrics_status, each) for each in ("", token)] == [
        401,
        403,
    ]
    await asyncio.to_thread(operator.stop)
    assert audit.refused() == set()
    declared = {each for each in _declared() if not each[1].endswith(_FINALIZERS)}
    assert audit.asked() == declared - {_NOT_YET}


async def _other_apis_of_jobs_are_served(
    plane: ChartPlane, home: str, env: Environment, folder: Path
) -> None:
    """By operators with a configuration that takes everything away in the end."""
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump({"v1alpha1": {"cleanPodPolicy": "All"}}))
    for kind in ("deployments", "tensorboards"):
        if kind == "tensorboards":
            crds = [crd_of(POD_GROUPS), crd_of(TENSORBOARDS)]
            await asyncio.to_thread(ControlPlane.install_crds, plane, crds)
        operator = operator_of(
            env, plane, namespace=home, flags=(f"--controller-config-file={file}",)
        )
        await asyncio.to_thread(operator.start)
        async with job_fixture_in(env) as fixture:
            await scenarios.tensorboard_is_put_to_sleep(fixture, kind)
            if kind == "tensorboards":
                await scenarios.queued_job_is_gathered(fixture)
                await scenarios.name_of_the_platforms_tensorboard_is_taken(fixture, operator)
            else:
                await scenarios.training_pods_are_adopted(fixture)
                await scenarios.old_job_is_completed_and_cleared_away(fixture)
                await scenarios.old_names_are_taken(fixture)
        await asyncio.to_thread(operator.stop)


def _declared() -> Set[Asked]:
    return {(each.resource.group, each.name, verb) for each in PERMISSIONS for verb in each.verbs}


async def _a_job_lives_and_is_cleared_away(fixture: JobFixture) -> None:
    fixture.kubelet.script("life-*", runs, exits(0))
    policy = {"cleanPodPolicy": "All", "ttlSecondsAfterFinished": 1}
    await fixture.submit("W1", name="life", run_policy=policy)
    await fixture.gone("life")
    await fixture.children(seconds=COLLECTOR_LEARNS)


async def _orphans_are_adopted(fixture: JobFixture) -> None:
    labels = {
        f"{LABELS}/operator-name": "tfjob-controller",
        f"{LABELS}/job-name": "found",
        f"{LABELS}/replica-type": "worker",
        f"{LABELS}/replica-index": "0",
    }
    await _make_children(fixture, "found-worker-0", labels)
    await fixture.submit("W1", name="found")

    async def are_adopted() -> bool:
        found = (await fixture.pods(), await fixture.services())
        return all("ownerReferences" in each["found-worker-0"]["metadata"] for each in found)

    await fixture.eventually("both are adopted", are_adopted, name="found")


async def _names_are_taken(fixture: JobFixture, operator: OperatorProcess) -> None:
    await _make_children(fixture, "taken-worker-0", {})
    await fixture.submit("W1", name="taken")
    await fixture.event("FailedCreatePod", name="taken")
    await fixture.event("FailedCreateService", name="taken")
    await asyncio.to_thread(operator.stop)
    await asyncio.to_thread(operator.start)

    async def is_counted_on() -> bool:
        told = await fixture.events("taken")
        return any(each["count"] > 1 for each in told if each["reason"] == "FailedCreatePod")

    await fixture.eventually("the event's count has grown", is_counted_on, name="taken")


async def _make_children(fixture: JobFixture, name: str, labels: Mapping[str, str]) -> None:
    path = f"/api/v1/namespaces/{fixture.namespace}"
    metadata = {"name": name, "labels": dict(labels)}
    pod = {"metadata": metadata, "spec": {"containers": [container()], "restartPolicy": "Never"}}
    ports = [{"name": "tfjob-port", "port": 2222}]
    service = {"metadata": metadata, "spec": {"clusterIP": "None", "ports": ports}}
    await fixture.call("POST", f"{path}/pods", pod)
    await fixture.call("POST", f"{path}/services", service)


async def _a_pod_does_not_go_away(fixture: JobFixture, audit: Audit) -> None:
    fixture.kubelet.script("stuck-*", runs)
    await fixture.submit("W1", name="stuck")
    await fixture.comes_to("Running", name="stuck")
    path = f"/api/v1/namespaces/{fixture.namespace}/pods/stuck-worker-0"
    await fixture.call("PATCH", path, {"metadata": {"finalizers": [HOLD]}})
    await fixture.delete_pod("stuck-worker-0")
    await _until_asked(fixture, audit, ("", "nodes", "get"))
    await fixture.call("PATCH", path, {"metadata": {"finalizers": []}})


async def _a_pod_does_not_start(fixture: JobFixture, audit: Audit) -> None:
    """Its status does not tell why, so its events are read."""

    async def waits(kubelet: FakeKubelet, pod: Mapping[str, Any]) -> None:
        await kubelet.waiting(pod, "ContainerCreating")

    fixture.kubelet.script("late-*", waits)
    await fixture.submit("W1", name="late")
    await _until_asked(fixture, audit, ("", "events", "list"))


async def _the_lease_is_lost(fixture: JobFixture, home: str, audit: Audit) -> None:
    """The chart brings a Lease; one that somebody deleted is made again."""
    await fixture.call("DELETE", LEASES.item(LEASE_NAME, home))
    await _until_asked(fixture, audit, (LEASES.group, LEASES.plural, "create"))


async def _a_gang_is_gathered(fixture: JobFixture, groups: Resource, audit: Audit) -> None:
    path = groups.collection(fixture.namespace)
    kind = {"apiVersion": f"{groups.group}/{groups.version}", "kind": "PodGroup"}
    await fixture.call("POST", path, {**kind, "metadata": {"name": "j"}, "spec": _size(groups, 1)})
    await fixture.create(of_types(Worker=replica(2, priorityClassName="high")))
    await _until_asked(fixture, audit, (groups.group, "podgroups", "get"))
    await fixture.call("DELETE", f"{path}/j")
    await _until_group(fixture, groups, 2)
    if not _is_native(groups):
        await fixture.call("PATCH", f"{path}/j", {"spec": _size(groups, 1)})
        await _until_group(fixture, groups, 2)
    await fixture.patch({"runPolicy": {"suspend": True}})
    await _until_group(fixture, groups, None)


async def _until_asked(fixture: JobFixture, audit: Audit, asked: Asked) -> None:
    async def is_asked() -> bool:
        return asked in audit.asked()

    await fixture.eventually(f"asked for {asked}", is_asked)


def _is_native(groups: Resource) -> bool:
    return groups.group == KUBERNETES.group


def _size(groups: Resource, members: int) -> Json:
    """How a PodGroup says how many members it needs at least."""
    if _is_native(groups):
        return {"schedulingPolicy": {"gang": {"minCount": members}}}
    return {"minMember": members}


async def _until_group(fixture: JobFixture, groups: Resource, members: int | None) -> None:
    path = groups.collection(fixture.namespace)
    expected = [] if members is None else [_size(groups, members)]

    async def is_so() -> bool:
        items = (await fixture.call("GET", path))["items"]
        specs = [each["spec"] for each in items]
        return len(specs) == len(expected) and all(
            wanted.items() <= spec.items() for spec, wanted in zip(specs, expected, strict=True)
        )

    await fixture.eventually(f"PodGroup of {members}", is_so)


async def test_children_that_hold_up_their_job_need_the_permission_on_finalizers(
    plane: ChartPlane, helm: Helm, home: str, chart_env: Environment
) -> None:
    await asyncio.to_thread(helm.install, namespace=home)
    path = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{NAME}"
    rules = plane.endpoint.request("GET", path)["rules"]
    less = [rule for rule in rules if rule["resources"] != ["tfjobs/finalizers"]]
    plane.endpoint.request("PATCH", path, {"rules": less})
    operator = operator_of(chart_env, plane, namespace=home)
    await asyncio.to_thread(operator.start)
    async with job_fixture_in(chart_env) as fixture:
        await fixture.submit("W1")
        await fixture.event("FailedCreatePod", "cannot set blockOwnerDeletion", kind="Warning")
        plane.endpoint.request("PATCH", path, {"rules": rules})
        await fixture.children("j-worker-0")
    operator.close()
