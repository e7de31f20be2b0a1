"""Clusters in states that our operator does not create: any stored status, any pods.

Names stay unique, because an API server keeps them so; everything else may be absurd.
"""

from typing import Any

from hypothesis import strategies as st

from tests.support.builders import UID, services_of
from tests.support.model_cluster import ModelCluster
from tests.support.strategies import EXIT_CODES, MOST, manifests, settings
from tfjob.core.job import TRAINING_CONTAINER
from tfjob.core.status import ConditionType
from tfjob.k8s.meta import ObjectMeta, OwnerReference
from tfjob.k8s.pod import (
    ContainerState,
    ContainerStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    Terminated,
    Waiting,
)

TIMES = (
    None,
    "yesterday",
    "0001-01-01T00:00:00Z",
    "2026-01-02T03:00:00Z",
    "2026-01-02T03:04:05Z",
    "2026-01-02T03:04:06.5+01:00",
    "9999-12-31T23:59:59Z",
)
PHASES = ("", "Pending", "Running", "Succeeded", "Failed", "Unknown", "Asleep")
INDEXES = ("", "0", "0,2-4", "2-0", "0-9999999", "x,1,-", "1 , 2")

times = st.sampled_from(TIMES)
numbers = st.sampled_from([0, 0, 1, 2, 5, 2**31, -1])

_states = st.one_of(
    st.just(ContainerState()),
    st.builds(
        ContainerState,
        terminated=st.builds(
            Terminated,
            exit_code=st.sampled_from(EXIT_CODES),
            reason=st.sampled_from(["", "Error", "OOMKilled"]),
            started_at=times,
            finished_at=times,
        ),
    ),
    st.builds(
        ContainerState, waiting=st.builds(Waiting, message=st.sampled_from(["", "no image"]))
    ),
)
_containers = st.lists(
    st.builds(
        ContainerStatus,
        name=st.sampled_from([TRAINING_CONTAINER, "other"]),
        restart_count=st.integers(0, 3),
        state=_states,
    ),
    max_size=2,
)
_conditions = st.lists(
    st.builds(
        PodCondition,
        type=st.sampled_from(["DisruptionTarget", "PodScheduled"]),
        status=st.sampled_from(["True", "False", ""]),
        last_transition_time=times,
    ),
    max_size=2,
)
_statuses = st.builds(
    PodStatus,
    phase=st.sampled_from(PHASES),
    reason=st.sampled_from(["", "Evicted", "DeadlineExceeded"]),
    start_time=times,
    conditions=_conditions,
    container_statuses=_containers,
    init_container_statuses=_containers,
)


@st.composite
def fuzzed_pods(draw: st.DrawFn) -> list[Pod]:
    """Pods of a job `j`, at most one of each name; others of other names may share their places."""
    roles = st.sampled_from(["worker", "ps", *(kind.lower() for kind in MOST)])
    places = st.tuples(roles, st.integers(0, 5))
    canonical = draw(st.lists(places, unique=True, max_size=6))
    found = [draw(_pod(f"j-{role}-{index}", role, str(index))) for role, index in canonical]
    odd_index = st.sampled_from(["0", "0", "1", "-1", "x", "", "1234567890"])
    for number in range(draw(st.integers(0, 2))):
        odd = st.tuples(st.sampled_from(["worker", "ps", "stranger"]), odd_index)
        shared = [(role, str(index)) for role, index in canonical]
        role, place = draw(st.sampled_from(shared) | odd if shared else odd)
        found.append(draw(_pod(f"adopted-{number}", role, place)))
    return found


@st.composite
def _pod(draw: st.DrawFn, name: str, role: str, index: str) -> Pod:
    is_terminating = draw(st.booleans())
    meta = ObjectMeta(
        name=name,
        uid=f"uid of {name}",
        creation_timestamp=draw(times),
        deletion_timestamp=(draw(times) or TIMES[4]) if is_terminating else None,
        deletion_grace_period_seconds=draw(st.sampled_from([None, 0, 30])),
        labels={
            "training.kubeflow.org/operator-name": "tfjob-controller",
            "training.kubeflow.org/job-name": "j",
            "training.kubeflow.org/replica-type": role,
            "training.kubeflow.org/replica-index": index,
        },
        owner_references=[OwnerReference(uid=UID, controller=True)],
    )
    node = PodSpec(node_name=draw(st.sampled_from(["", "node"])))
    return Pod(metadata=meta, spec=node, status=draw(_statuses))


_LIVELY = (ConditionType.CREATED, ConditionType.RUNNING, ConditionType.RESTARTING)
_stored_conditions = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from([*ConditionType, *_LIVELY, "Else"]).map(str),
            "status": st.sampled_from(["True", "False", "Unknown"]),
        },
        optional={
            "reason": st.sampled_from(["TFJobRunning", "TFJobSuspended", ""]),
            "lastUpdateTime": times,
            "lastTransitionTime": times,
        },
    ),
    max_size=4,
)
_stored_restarts = st.lists(
    st.fixed_dictionaries(
        {
            "index": st.integers(0, 4),
            "uid": st.sampled_from(["uid of j-worker-0", "uid of j-ps-0", "gone"]),
            "streak": st.integers(0, 40),
            "time": times,
        }
    ),
    max_size=3,
)
_stored_replicas = st.dictionaries(
    st.sampled_from([*MOST, "Launcher"]),
    st.fixed_dictionaries(
        {},
        optional={
            "active": numbers,
            "succeeded": numbers,
            "failed": numbers,
            "restarts": numbers,
            "completedIndexes": st.sampled_from(INDEXES),
            "recentRestarts": _stored_restarts,
        },
    ),
    max_size=3,
)
stored_statuses: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "conditions": _stored_conditions,
        "replicaStatuses": _stored_replicas,
        "startTime": times,
        "completionTime": times,
        "lastReconcileTime": times,
    },
)


@st.composite
def fuzzed_clusters(draw: st.DrawFn) -> ModelCluster:
    """A valid job with any status and any pods, and some of their services."""
    given = {**draw(manifests()), "status": draw(stored_statuses)}
    cluster = ModelCluster(given, settings=draw(settings))
    for pod in draw(fuzzed_pods()):
        cluster.put_pod(pod)
    for service in services_of(draw(fuzzed_pods())):
        cluster.put_service(service)
    cluster.suspend(is_suspended=draw(st.sampled_from([False, False, True])))
    return cluster
