"""Records the last failure of each container before a limit deletes its pod.

The pod of a container that the kubelet restarted does not count as failed, and the exit code,
reason and last output of the container are lost with the pod.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from tfjob.core.job import Job
from tfjob.core.plan import EventType, JobEvent
from tfjob.k8s import time
from tfjob.k8s.pod import Pod, Terminated

_MOST_CHARACTERS: Final = 600
"""Characters of the last output, so that the whole message fits into an event."""
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


class LastFailure(msgspec.Struct, frozen=True):
    """How a container of a pod failed most recently; `restart` is the number of that run."""

    pod: str
    uid: str
    container: str
    restart: int
    end: Terminated

    @property
    def summary(self) -> str:
        """One sentence, followed by the last lines of the container's output."""
        text = f"container {self.container} of pod {self.pod} exited with code {self.end.exit_code}"
        reason = f" ({self.end.reason})" if self.end.reason else ""
        lines = self.last_lines
        return f"{text}{reason}: {lines}" if lines else f"{text}{reason}"

    @property
    def last_lines(self) -> str:
        """The end of the termination message, from the start of a line where possible."""
        shown = "".join(_shown(each) for each in self.end.message.strip())
        if len(shown) <= _MOST_CHARACTERS:
            return shown
        tail = shown[-_MOST_CHARACTERS:]
        _, newline, whole = tail.partition("\n")
        return whole if newline and whole else tail


def last_failures(pods: Iterable[Pod]) -> list[LastFailure]:
    """The last failures in these pods, the most recent first."""
    found = [each for pod in pods for each in _of_pod(pod)]
    return sorted(found, key=_order)


def events(job: Job, failures: Sequence[LastFailure]) -> Iterator[JobEvent]:
    """A warning for each failure, with the same key as an earlier warning about it."""
    for each in failures:
        reason = each.end.reason or "Unknown"
        yield JobEvent(
            type=EventType.WARNING,
            reason=reason,
            message=job.messages.container_terminated.render(
                pod=each.pod,
                container=each.container,
                code=each.end.exit_code,
                msg=each.last_lines,
            ),
            key=f"pod/{each.uid}/{reason}/{each.container}/{each.restart}",
        )


def _of_pod(pod: Pod) -> Iterator[LastFailure]:
    status, meta = pod.status, pod.metadata
    for each in (*status.init_container_statuses, *status.container_statuses):
        now, before = each.state.terminated, each.last_state.terminated
        if now is not None and now.exit_code != 0:
            yield LastFailure(meta.name, meta.uid, each.name, each.restart_count, now)
        elif now is None and before is not None and before.exit_code != 0:
            yield LastFailure(meta.name, meta.uid, each.name, each.last_run, before)


def _order(failure: LastFailure) -> tuple[float, str, str]:
    end = time.parse(failure.end.finished_at) or _NEVER
    return -(end - _NEVER).total_seconds(), failure.pod, failure.container


def _shown(character: str) -> str:
    """Replace control characters, which a terminal would interpret."""
    if character.isprintable() or character == "\n":
        return character
    return " " if character == "\t" else "\N{REPLACEMENT CHARACTER}"
