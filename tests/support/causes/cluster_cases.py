"""Causes that keep pods from being created or placed: a real API server and a real scheduler."""

from typing import Any, Final

from tests.support.causes.case import WORKER, Case, Scene
from tests.support.causes.webhooks import DENIAL, DOWN, denying_webhook, webhook
from tests.support.fake_kubelet.driver import Deletions, runs

Json = dict[str, Any]
_NODES: Final = "/api/v1/nodes"


async def quota(scene: Scene) -> None:
    body = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    await scene.call("POST", scene.core("resourcequotas"), body)
    await _until_enforced(scene)
    await scene.submit()


async def _until_enforced(scene: Scene) -> None:
    """The quota is enforced once its controller has counted what is there."""

    async def is_counted() -> bool:
        found = await scene.call("GET", f"{scene.core('resourcequotas')}/none")
        return "pods" in found.get("status", {}).get("used", {})

    await scene.until("the quota is counted", is_counted)


async def pod_security(scene: Scene) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    path = f"/api/v1/namespaces/{scene.namespace}"
    await scene.call("PATCH", path, {"metadata": {"labels": labels}})
    await scene.submit()


async def webhook_down(scene: Scene) -> None:
    await webhook(scene, DOWN)
    await scene.submit()


async def webhook_refuses(scene: Scene) -> None:
    await webhook(scene, await denying_webhook(scene))
    await scene.submit()


async def policy_refuses(scene: Scene) -> None:
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    chosen = {"matchLabels": {"kubernetes.io/metadata.name": scene.namespace}}
    spec = {
        "matchConstraints": {"resourceRules": [{**rule, "resources": ["pods"]}]},
        "validations": [{"expression": "false", "message": "no pods on Mondays"}],
    }
    body: Json = {"metadata": {"name": scene.namespace}, "spec": spec}
    await scene.call("POST", f"{path}ies", body)
    binding = {
        "policyName": scene.namespace,
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": chosen},
    }
    await scene.call(
        "POST", f"{path}ybindings", {"metadata": {"name": scene.namespace}, "spec": binding}
    )
    await scene.until_refused()
    await scene.submit()


async def service_account(scene: Scene) -> None:
    await scene.with_pod_spec(serviceAccountName="trainer")


async def invalid_template(scene: Scene) -> None:
    both: Json = {"name": "data", "emptyDir": {}, "hostPath": {"path": "/data"}}
    await scene.with_pod_spec(volumes=[both])


async def suspended(scene: Scene) -> None:
    await scene.submit(run_policy={"suspend": True})


async def old_pod(scene: Scene) -> None:
    await scene.submit()
    await scene.running()
    await scene.call("DELETE", f"{scene.jobs}/j", {"propagationPolicy": "Background"})
    await scene.until_pod("is terminating", lambda pod: pod["metadata"].get("deletionTimestamp"))
    await scene.submit()


async def cpu(scene: Scene) -> None:
    await scene.with_container(resources={"requests": {"cpu": "5000"}})
    await _unscheduled(scene)


async def gpu(scene: Scene) -> None:
    await scene.with_container(resources={"limits": {"nvidia.com/gpu": "8"}})
    await _unscheduled(scene)


async def selector(scene: Scene) -> None:
    await scene.with_pod_spec(nodeSelector={"disk": "ssd"})
    await _unscheduled(scene)


async def taint(scene: Scene) -> None:
    await add_node(scene, taints=[{"key": "maintenance", "effect": "NoSchedule"}])
    await scene.with_pod_spec(nodeSelector={"pool": scene.namespace})
    await _unscheduled(scene)


async def gang(scene: Scene) -> None:
    await scene.with_pod_spec(schedulerName="volcano")
    await scene.kubelet.appears(WORKER)
    text = "pod group is not ready, 1 Pending, 2 minAvailable; Pending: 1 Unschedulable"
    await scene.kubelet.unschedulable(WORKER, text)
    scene.is_known()


async def gate(scene: Scene) -> None:
    await scene.with_pod_spec(schedulingGates=[{"name": "example.com/quota"}])
    await _unscheduled(scene)


async def claim_missing(scene: Scene) -> None:
    await _with_claim(scene)


async def claim_unbound(scene: Scene) -> None:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    body = {"metadata": {"name": "data"}, "spec": spec}
    await scene.call("POST", scene.core("persistentvolumeclaims"), body)
    await _with_claim(scene)


async def _with_claim(scene: Scene) -> None:
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    await scene.with_pod_spec(volumes=[claim])
    await _unscheduled(scene)


async def device_class(scene: Scene) -> None:
    await _with_device(scene)


async def device(scene: Scene) -> None:
    name = f"{scene.namespace}.example.com"
    path = "/apis/resource.k8s.io/v1/deviceclasses"
    await scene.call("POST", path, {"metadata": {"name": name}, "spec": {}})
    await _with_device(scene)


async def _with_device(scene: Scene) -> None:
    request = {"name": "gpu", "exactly": {"deviceClassName": f"{scene.namespace}.example.com"}}
    body = {"metadata": {"name": "gpu"}, "spec": {"devices": {"requests": [request]}}}
    group = f"/apis/resource.k8s.io/v1/namespaces/{scene.namespace}"
    await scene.call("POST", f"{group}/resourceclaims", body)
    await scene.with_pod_spec(resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])
    await _unscheduled(scene)


async def deadline(scene: Scene) -> None:
    scene.kubelet.script("*", runs)
    await scene.submit(run_policy={"activeDeadlineSeconds": 2})
    scene.is_known(after=2)


async def backoff(scene: Scene) -> None:
    await scene.submit(restart="ExitCode", run_policy={"backoffLimit": 1})
    await scene.running()
    first = scene.kubelet.pods[WORKER]
    await scene.kubelet.finish(first, exit_code=130)
    await scene.kubelet.gone(first)
    await scene.running()
    await scene.kubelet.finish(WORKER, exit_code=130)
    scene.is_known()


async def add_node(scene: Scene, *, cpu: str = "4", taints: list[Json] | None = None) -> str:
    """A node of this scene alone, chosen by the label `pool`."""
    room = {"cpu": cpu, "memory": "1Ti", "pods": "10"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    name = f"node-{scene.namespace}"
    body = {
        "metadata": {"name": name, "labels": {"pool": scene.namespace}},
        "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
    }
    await scene.call("POST", _NODES, body)
    await scene.call("PATCH", f"{_NODES}/{name}", {"spec": {"taints": taints}})
    return name


async def _unscheduled(scene: Scene) -> None:
    await scene.until_pod(
        "the scheduler has spoken",
        lambda pod: any(
            each["type"] == "PodScheduled" and each["status"] == "False"
            for each in pod["status"].get("conditions") or ()
        ),
    )


CASES: Final = (
    Case(
        1,
        "quota",
        "a ResourceQuota of 0 pods",
        quota,
        "QuotaExceeded",
        words=("exceeded quota: none",),
        remedy=("ResourceQuota",),
    ),
    Case(
        2,
        "Pod Security",
        "a namespace that enforces `restricted`",
        pod_security,
        "PodSecurityViolation",
        words=('violates PodSecurity "restricted',),
        remedy=("securityContext",),
    ),
    Case(
        3,
        "webhook that is down",
        "a validating webhook at a closed port, failurePolicy Fail",
        webhook_down,
        "WebhookUnavailable",
        words=("failed calling webhook",),
        remedy=("administrator",),
    ),
    Case(
        3,
        "webhook that refuses",
        "a validating webhook that denies pods",
        webhook_refuses,
        "WebhookDenied",
        words=(DENIAL,),
        remedy=("webhook",),
    ),
    Case(
        3,
        "admission policy that refuses",
        "a ValidatingAdmissionPolicy that denies pods",
        policy_refuses,
        "WebhookDenied",
        words=("no pods on Mondays",),
    ),
    Case(
        4,
        "ServiceAccount missing",
        "serviceAccountName of an account that does not exist",
        service_account,
        "ServiceAccountMissing",
        words=('serviceaccount "trainer" not found',),
        remedy=("serviceAccountName",),
    ),
    Case(
        5,
        "invalid pod template",
        "a volume of two types",
        invalid_template,
        "InvalidPod",
        words=("spec.volumes[0].hostPath",),
        remedy=("Correct the field",),
    ),
    Case(
        6,
        "suspended",
        "runPolicy.suspend",
        suspended,
        "Suspended",
        replica="",
        remedy=("tfjob resume", "queue"),
    ),
    Case(
        7,
        "old pod still terminating",
        "the job deleted and created again while its pod ends",
        old_pod,
        "OldPodTerminating",
        words=(WORKER,),
        remedy=("Wait until it is gone",),
        deletions=Deletions.ON_DEMAND,
    ),
    Case(
        8,
        "not enough CPU",
        "a request of 5,000 CPUs",
        cpu,
        "InsufficientResources",
        words=("Insufficient cpu",),
        remedy=("lower the requests",),
    ),
    Case(
        8,
        "not enough GPUs",
        "a limit of 8 nvidia.com/gpu",
        gpu,
        "InsufficientResources",
        words=("Insufficient nvidia.com/gpu",),
    ),
    Case(
        9,
        "selector",
        "a nodeSelector that no node has",
        selector,
        "NoMatchingNode",
        words=("didn't match",),
        remedy=("nodeSelector",),
    ),
    Case(
        9,
        "taint",
        "the only matching node has a taint",
        taint,
        "NoMatchingNode",
        words=("untolerated taint",),
        remedy=("tolerations",),
    ),
    Case(
        10,
        "gang short of members",
        "the condition that Volcano sets on a pod of an incomplete group",
        gang,
        "GangIncomplete",
        words=("2 minAvailable",),
        remedy=("minAvailable",),
    ),
    Case(
        11,
        "scheduling gate",
        "schedulingGates in the template",
        gate,
        "SchedulingGated",
        remedy=("schedulingGates",),
    ),
    Case(
        12,
        "PVC not found",
        "a volume of a claim that does not exist",
        claim_missing,
        "VolumeNotBound",
        words=('persistentvolumeclaim "data" not found',),
        remedy=("claim",),
    ),
    Case(
        12,
        "PVC not bound",
        "a claim without a volume",
        claim_unbound,
        "VolumeNotBound",
        words=("unbound immediate PersistentVolumeClaims",),
        remedy=("storage class",),
    ),
    Case(
        13,
        "device claim not allocated",
        "a ResourceClaim of a class without devices",
        device,
        "DeviceNotAllocated",
        remedy=("ResourceClaim",),
    ),
    Case(
        13,
        "device class missing",
        "a ResourceClaim of a class that does not exist",
        device_class,
        "DeviceNotAllocated",
        words=("device class",),
        remedy=("ResourceClaim",),
    ),
    Case(
        26,
        "deadline",
        "activeDeadlineSeconds of 2",
        deadline,
        "DeadlineExceeded",
        replica="",
        remedy=("activeDeadlineSeconds",),
    ),
    Case(
        26,
        "backoff limit",
        "two retryable failures with backoffLimit 1",
        backoff,
        "BackoffLimitExceeded",
        words=("exit code 130",),
        remedy=("backoffLimit",),
    ),
)
