"""Records the events of one job with the reasons and messages of its dialect."""

from tfjob.client.events import EventRecorder
from tfjob.core.job import Owner
from tfjob.core.messages import MessageTemplate
from tfjob.core.plan import EventType, JobEvent
from tfjob.k8s.event import Event


class JobEventRecorder:
    """An event recorder bound to one job."""

    def __init__(
        self, recorder: EventRecorder, owner: Owner, *, component: str, version: str
    ) -> None:
        self._recorder = recorder
        self._component = component
        self._owner = owner
        self._version = version

    def event(self, event: JobEvent) -> None:
        self._record(event.type, event.reason, event.message, key=event.key)

    def succeeded(
        self, template: MessageTemplate, *, kind: str, noun: str, child: str, uid: str
    ) -> None:
        """A child was created or deleted. Recorded once per child."""
        reason = template.reason.format(kind=kind)
        message = template.render(noun=noun, child=child)
        self._record(EventType.NORMAL, reason, message, key=f"{reason}/{uid or child}")

    def failed(self, template: MessageTemplate, *, kind: str, child: str, error: str) -> None:
        """A child could not be created or deleted. Recorded again while the failure lasts.

        Failures that differ only in the child's name share one event with a count.
        """
        reason = template.reason.format(kind=kind)
        message = template.render(error=error)
        key = f"{reason}/{error.replace(child, '')}"
        self._record(EventType.WARNING, reason, message, key=key, is_once=False)

    def _record(
        self, kind: EventType, reason: str, message: str, *, key: str, is_once: bool = True
    ) -> None:
        owner = self._owner
        event = Event(
            type=str(kind),
            reason=reason,
            message=message,
            api_version=owner.api_version,
            kind=owner.kind,
            namespace=owner.namespace,
            name=owner.name,
            uid=owner.uid,
            resource_version=self._version,
            component=self._component,
        )
        self._recorder.record(event, key=key, is_once=is_once)
