"""Checks of conversions: their losses, and values of the source that are missing without one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.support.tfjobs import Json, container, tfjob
from tfjob.core.job import Job
from tfjob.dialects.base import Loss, Settings
from tfjob.dialects.kubeflow.v1 import KubeflowV1

HUB = KubeflowV1()
_VOLCANO = Settings(gang_scheduler_name="volcano")


def losses_of(losses: Sequence[Loss]) -> list[str]:
    return [each.path for each in losses]


def meaning(manifest: Json) -> Job:
    """What a job of the hub means, with gang scheduling on, so that all its fields count."""
    assert HUB.validate(manifest) == []
    job = HUB.decode(manifest, _VOLCANO)
    assert isinstance(job, Job), job
    return job


def unsaid(source: Json, target: Json, losses: Sequence[Loss]) -> list[str]:
    """Paths of the source's spec whose value is neither in the target nor under a loss."""
    said = [value for _, value in _leaves(target, "")]
    paths = losses_of(losses)
    return [
        path
        for path, value in _leaves(source["spec"], "spec")
        if value not in said and not any(path.startswith(each) for each in paths)
    ]


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _leaves(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _leaves(each, f"{path}[{place}]")
    else:
        yield path, value


_COUNTS: Mapping[str, Sequence[int | None]] = {
    "C": [0, 1, None],
    "M": [0, 1, None],
    "P": [0, 1, 2],
    "W": [0, 1, 3],
    "E": [1],
}
_rarely = st.sampled_from([True, False, False, False, False])
_POLICIES = ("ExitCode", "OnFailure", "Never", "Always", None)
_TYPES = {"C": "Chief", "M": "Master", "P": "PS", "W": "Worker", "E": "Evaluator"}
_LIMITS: Mapping[str, Sequence[Any]] = {
    "cleanPodPolicy": ["None", "Running", "All", ""],
    "ttlSecondsAfterFinished": [None, 5],
    "activeDeadlineSeconds": [None, 0, 60],
    "backoffLimit": [None, 3],
    "suspend": [False, True],
    "managedBy": ["kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"],
    "schedulingPolicy": [{}, {"queue": "q"}, {"queue": "q", "minAvailable": 1}, {"queue": ""}],
}


@st.composite
def hub_jobs(draw: st.DrawFn, kinds: str, *, leader: str, others: str) -> Json:
    """Jobs of the hub without faults; the two policies are those that a target keeps."""
    roles = draw(st.sampled_from(kinds.split()))
    job = tfjob("")
    for role in roles:
        usual = leader if role == roles[0] else others
        job["spec"]["tfReplicaSpecs"][_TYPES[role]] = _replica(draw, role, usual)
    if draw(st.booleans()):
        return job
    limits = {key: draw(st.sampled_from(_LIMITS[key])) for key in _LIMITS if draw(_rarely)}
    if limits:
        job["spec"]["runPolicy"] = limits
    if draw(_rarely):
        job["spec"]["successPolicy"] = draw(st.sampled_from(["", "AllWorkers"]))
    if draw(_rarely):
        job["spec"]["enableDynamicWorker"] = draw(st.booleans())
    return job


def _replica(draw: st.DrawFn, role: str, usual: str) -> Json:
    policy = draw(st.just(usual) | st.sampled_from(_POLICIES))
    trained, port = container(), draw(st.sampled_from([None, None, 2222, 3333]))
    if port is not None:
        trained["ports"] = [{"name": "tfjob-port", "containerPort": port}]
    given: Json = {
        "replicas": draw(st.sampled_from(_COUNTS[role])),
        "restartPolicy": policy,
        "template": {"spec": {"containers": [trained, container("side")]}},
    }
    return {key: value for key, value in given.items() if value is not None}
