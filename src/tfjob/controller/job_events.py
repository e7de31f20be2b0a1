"""Records the events of one job with the reasons and messages of its dialect."""

from tfjob.client.events import EventRecorder
from tfjob.core.job import Owner
from tfjob.core.messages import MessageTemplate
from tfjob.core.plan import EventType, JobEvent, Rule
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
        self._record(event)

    def succeeded(
        self,
        template: MessageTemplate,
        *,
        kind: str,
        noun: str,
        child: str,
        uid: str,
        rule: Rule | None = None,
    ) -> None:
        """Record that a child was created or deleted, once per child."""
        reason = template.reason.format(kind=kind)
        self._record(
            JobEvent(
                type=EventType.NORMAL,
                reason=reason,
                message=template.render(noun=noun, child=child),
                key=f"{reason}/{uid or child}",
                child=child,
                rule=rule,
            )
        )

    def failed(self, template: MessageTemplate, *, kind: str, child: str, error: str) -> None:
        """Record that a child could not be created or deleted, again and again while that lasts.

        Failures that differ only in the child's name share one event with a count.
        """
        reason = template.reason.format(kind=kind)
        message = template.render(error=error)
        key = f"{reason}/{error.replace(child, '')}"
        event = JobEvent(type=EventType.WARNING, reason=reason, message=message, key=key)
        self._record(event, is_once=False)

    def _record(self, event: JobEvent, *, is_once: bool = True) -> None:
        owner = self._owner
        recorded = Event(
            type=str(event.type),
            reason=event.reason,
            message=event.message,
            api_version=owner.api_version,
            kind=owner.kind,
            namespace=owner.namespace,
            name=owner.name,
            uid=owner.uid,
            resource_version=self._version,
            component=self._component,
            child=event.child if event.rule is not None else "",
            rule=str(event.rule or ""),
        )
        self._recorder.record(recorded, key=event.key, is_once=is_once)
