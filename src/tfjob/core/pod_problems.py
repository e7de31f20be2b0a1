"""Events on the job about its pods: exits, failing and waiting containers, scheduling problems.

Each occurrence has its own key, so it is recorded once however often it is observed.
"""

from collections.abc import Iterator, Sequence

from tfjob.core.job import TRAINING_CONTAINER, Job
from tfjob.core.messages import MessageTemplate
from tfjob.core.observe import ReplicaInstance
from tfjob.core.plan import EventType, JobEvent
from tfjob.k8s.pod import ContainerStatus, Pod

_UNKNOWN = "Unknown"


def exits(job: Job, instances: Sequence[ReplicaInstance]) -> Iterator[JobEvent]:
    """Exits of training containers that are not in the status yet."""
    for instance in instances:
        pod = instance.pod
        if pod is None or instance.is_completed or instance.is_obsolete:
            continue
        ended = pod.terminated(TRAINING_CONTAINER)
        if ended is None:
            continue
        template = job.messages.exited
        yield JobEvent(
            type=EventType.NORMAL,
            reason=template.reason,
            message=template.render(
                namespace=job.namespace, pod=pod.metadata.name, code=ended.exit_code
            ),
            key=f"exited/{pod.metadata.uid}/{ended.started_at}",
        )


def problems(job: Job, instances: Sequence[ReplicaInstance]) -> Iterator[JobEvent]:
    """Why pods that should be running are not."""
    for instance in instances:
        pod = instance.pod
        if pod is None or instance.is_terminating or instance.is_obsolete:
            continue
        if instance.is_succeeded or instance.is_failed:
            continue
        yield from _of_pod(job, pod)


def _of_pod(job: Job, pod: Pod) -> Iterator[JobEvent]:
    statuses = pod.status.container_statuses or pod.status.init_container_statuses
    if statuses:
        for status in statuses:
            yield from _of_container(job, pod, status)
        return
    newest = max(
        pod.status.conditions, key=lambda each: each.last_transition_time or "", default=None
    )
    if newest is not None and newest.status != "True":
        yield _warning(
            job.messages.pod_condition,
            pod,
            reason=newest.reason,
            key=newest.type,
            msg=newest.message,
        )


def _of_container(job: Job, pod: Pod, status: ContainerStatus) -> Iterator[JobEvent]:
    ended, waiting = status.state.terminated, status.state.waiting
    if ended is not None and ended.exit_code != 0:
        yield _warning(
            job.messages.container_terminated,
            pod,
            reason=ended.reason,
            key=f"{status.name}/{status.restart_count}",
            container=status.name,
            code=ended.exit_code,
            msg=ended.message,
        )
    if waiting is not None and waiting.message:
        yield _warning(
            job.messages.container_waiting,
            pod,
            reason=waiting.reason,
            key=status.name,
            container=status.name,
            msg=waiting.message,
        )


def _warning(
    template: MessageTemplate, pod: Pod, *, reason: str, key: str, **params: object
) -> JobEvent:
    reason = reason or _UNKNOWN
    return JobEvent(
        type=EventType.WARNING,
        reason=reason,
        message=template.render(pod=pod.metadata.name, **params),
        key=f"pod/{pod.metadata.uid}/{reason}/{key}",
    )
