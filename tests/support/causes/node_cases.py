"""Causes that a node reports: its kubelet's states, conditions and events, and disruptions.

The fake kubelet writes what a real one writes. Preemption is decided by the real scheduler, and
an eviction goes through the API. The processes of such a pod take their time to end: one that is
gone before the operator has seen its end leaves no evidence.
"""

from typing import Any, Final

from tests.support.causes.case import WORKER, Case, Inject, Scene
from tests.support.causes.cluster_cases import add_node
from tests.support.fake_kubelet.driver import Deletions

_BACK_OFF: Final = 'Back-off pulling image "example.invalid/tensorflow"'


def waits(reason: str, message: str) -> Inject:
    """The kubelet does not start the container."""

    async def inject(scene: Scene) -> None:
        await scene.submit()
        await scene.kubelet.appears(WORKER)
        await scene.kubelet.waiting(WORKER, reason, message)
        scene.is_known()

    return inject


def cannot_prepare(reason: str, message: str, *, count: int = 3) -> Inject:
    """The kubelet reports only in events why it cannot create the container."""

    async def inject(scene: Scene) -> None:
        await scene.submit()
        await scene.kubelet.appears(WORKER)
        await scene.kubelet.waiting(WORKER, "ContainerCreating")
        await scene.kubelet.record_event(WORKER, reason, message, count=count)
        scene.is_known()

    return inject


async def init_container(scene: Scene) -> None:
    fetch = {"name": "fetch", "image": "example.invalid/fetch"}
    await scene.with_pod_spec(initContainers=[fetch], restart="Never")
    await scene.kubelet.appears(WORKER)
    await scene.kubelet.fail_init(WORKER, container="fetch", exit_code=4)
    scene.is_known()


async def start_error(scene: Scene) -> None:
    await scene.submit(restart="Never")
    await scene.running()
    await scene.kubelet.finish(
        WORKER,
        exit_code=128,
        reason="StartError",
        message='exec: "trian.py": executable file not found in $PATH',
    )
    scene.is_known()


async def probe(scene: Scene) -> None:
    check = {"exec": {"command": ["cat", "/healthy"]}}
    await scene.with_container(restart="OnFailure", livenessProbe=check)
    await scene.running()
    text = "Liveness probe failed: cat: /healthy: No such file or directory"
    await scene.kubelet.record_event(WORKER, "Unhealthy", text, count=3)
    killing = "Container tensorflow failed liveness probe, will be restarted"
    await scene.kubelet.record_event(WORKER, "Killing", killing, kind="Normal")
    await scene.kubelet.restart_container(WORKER, exit_code=137)
    scene.is_known()


async def out_of_memory(scene: Scene) -> None:
    await scene.with_container(restart="Never", resources={"limits": {"memory": "200Mi"}})
    await scene.running()
    await scene.kubelet.finish(WORKER, exit_code=137, reason="OOMKilled")
    scene.is_known()


def ended_by_kubelet(reason: str, message: str) -> Inject:
    async def inject(scene: Scene) -> None:
        await scene.submit(restart="Never")
        await scene.running()
        await scene.kubelet.evict(WORKER, message, reason=reason)
        scene.is_known()

    return inject


async def preempted(scene: Scene) -> None:
    """A pod of higher priority takes the only CPU of the node."""
    await add_node(scene, cpu="1")
    needs = {"resources": {"requests": {"cpu": "1"}}}
    pool = {"pool": scene.namespace}
    group = "/apis/scheduling.k8s.io/v1/priorityclasses"
    name = f"high-{scene.namespace}"
    await scene.call("POST", group, {"metadata": {"name": name}, "value": 1000})
    trains = {"name": "tensorflow", "image": "example.invalid/tensorflow", **needs}
    await scene.with_pod_spec(restart="Never", nodeSelector=pool, containers=[trains])
    await scene.until_pod("has a node", lambda pod: pod["spec"].get("nodeName"))
    await scene.running()
    container = {"name": "c", "image": "example.invalid/x", **needs}
    spec = {"priorityClassName": name, "nodeSelector": pool, "containers": [container]}
    await scene.call("POST", scene.core("pods"), {"metadata": {"name": "vip"}, "spec": spec})
    await _until_disrupted(scene)


async def drained(scene: Scene) -> None:
    await scene.submit(restart="Never")
    await scene.running()
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": WORKER, "namespace": scene.namespace},
    }
    await scene.call("POST", f"{scene.core('pods')}/{WORKER}/eviction", eviction)
    scene.is_known()


async def _until_disrupted(scene: Scene) -> None:
    uid = scene.kubelet.pods[WORKER]["metadata"]["uid"]

    async def is_so() -> bool:
        pod = await scene.pod()
        if pod is None or pod["metadata"]["uid"] != uid:
            return True
        return "deletionTimestamp" in pod["metadata"]

    await scene.until("the scheduler preempts it", is_so)
    scene.is_known()


async def node_lost(scene: Scene) -> None:
    await scene.submit(restart="OnFailure")
    await scene.running()
    await scene.kubelet.lose_node(WORKER)
    scene.is_known()


def ends(output: str, *, code: int = 1, **fields: Any) -> Inject:
    """The program ends, and the kubelet reports the end of its output."""

    async def inject(scene: Scene) -> None:
        await scene.with_container(restart="Never", **fields)
        await scene.running()
        await scene.kubelet.finish(WORKER, exit_code=code, message=output)
        scene.is_known()

    return inject


CASES: Final = (
    *(
        Case(
            14,
            f"image: {reason}",
            f"the waiting reason {reason}",
            waits(reason, message),
            "ImageNotPulled",
            words=(message,),
            remedy=("imagePullSecrets",),
        )
        for reason, message in (
            ("ErrImagePull", "failed to resolve reference: not found"),
            ("ImagePullBackOff", _BACK_OFF),
            ("ErrImageNeverPull", "Container image is not present with pull policy of Never"),
            ("InvalidImageName", "couldn't parse image name: invalid reference format"),
        )
    ),
    Case(
        15,
        "Secret missing",
        "the waiting reason CreateContainerConfigError",
        waits("CreateContainerConfigError", 'secret "token" not found'),
        "ConfigMissing",
        words=('secret "token" not found',),
        remedy=("Secret",),
    ),
    Case(
        15,
        "key of a ConfigMap missing",
        "the waiting reason CreateContainerConfigError",
        waits("CreateContainerConfigError", "couldn't find key LR in ConfigMap ns/params"),
        "ConfigMissing",
        words=("couldn't find key LR",),
        remedy=("ConfigMap",),
    ),
    Case(
        16,
        "mount",
        "the event FailedMount, repeated",
        cannot_prepare("FailedMount", 'MountVolume.SetUp failed for volume "d": secret not found'),
        "MountFailed",
        words=("MountVolume.SetUp failed",),
        remedy=("volume",),
    ),
    Case(
        16,
        "attach",
        "the event FailedAttachVolume",
        cannot_prepare(
            "FailedAttachVolume",
            'Multi-Attach error for volume "pvc-1": already used by pod(s) other',
            count=1,
        ),
        "MountFailed",
        words=("Multi-Attach error",),
        remedy=("another node still has it attached",),
    ),
    Case(
        17,
        "sandbox",
        "the event FailedCreatePodSandBox",
        cannot_prepare(
            "FailedCreatePodSandBox",
            "Failed to create pod sandbox: plugin type=calico failed (add): no addresses left",
            count=1,
        ),
        "SandboxFailed",
        words=("plugin type=calico",),
        remedy=("network plugin",),
    ),
    Case(
        18,
        "init container fails",
        "an init container ends with 4",
        init_container,
        "InitContainerFailed",
        words=("fetch", "exit code 4"),
        remedy=("init container",),
    ),
    Case(
        19,
        "command not found",
        "the waiting reason RunContainerError",
        waits(
            "RunContainerError",
            'runc create failed: exec: "trian.py": executable file not found in $PATH',
        ),
        "ContainerNotStarted",
        words=("trian.py",),
        remedy=("command",),
    ),
    Case(
        19,
        "start error",
        "the terminated reason StartError with 128",
        start_error,
        "ContainerNotStarted",
        words=("trian.py", "exit code 128"),
        remedy=("executable",),
    ),
    Case(
        20,
        "liveness probe",
        "the events Unhealthy and Killing, and a restart in place",
        probe,
        "ProbeFailed",
        words=("Liveness probe failed", "exit code 137"),
        remedy=("probe",),
    ),
    Case(
        21,
        "out of memory",
        "the terminated reason OOMKilled with 137",
        out_of_memory,
        "OutOfMemory",
        words=("limit 200Mi",),
        remedy=("memory limit",),
    ),
    Case(
        22,
        "evicted for memory",
        "the pod's reason Evicted",
        ended_by_kubelet("Evicted", "The node was low on resource: memory."),
        "NodePressure",
        words=("low on resource: memory",),
        remedy=("requests",),
    ),
    Case(
        22,
        "evicted for disk space",
        "the pod's reason Evicted",
        ended_by_kubelet("Evicted", "The node was low on resource: ephemeral-storage."),
        "NodePressure",
        words=("ephemeral-storage",),
        remedy=("ephemeral-storage",),
    ),
    Case(
        23,
        "preempted",
        "a pod of higher priority, and the real scheduler",
        preempted,
        "Preempted",
        remedy=("priorityClassName",),
        deletions=Deletions.ON_DEMAND,
    ),
    Case(
        24,
        "drained",
        "the Eviction API",
        drained,
        "Drained",
        remedy=("checkpoints",),
        deletions=Deletions.ON_DEMAND,
    ),
    Case(
        25,
        "node lost",
        "DisruptionTarget DeletionByTaintManager",
        node_lost,
        "NodeLost",
        remedy=("node",),
    ),
    Case(
        25,
        "node shut down",
        "the pod's reason Terminated, DisruptionTarget TerminationByKubelet",
        ended_by_kubelet("Terminated", "Pod was terminated in response to imminent node shutdown."),
        "NodeLost",
        words=("imminent node shutdown",),
        remedy=("node",),
    ),
    Case(
        33,
        "driver",
        "output of TensorFlow in a container with a GPU",
        ends(
            "E cuda_driver.cc] failed call to cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
            resources={"limits": {"example.com/gpu": "1"}},
            terminationMessagePolicy="FallbackToLogsOnError",
        ),
        "AcceleratorFailed",
        words=("failed call to cuInit",),
        remedy=("driver",),
    ),
)
