"""Events about one job, in the words of its dialect."""

from tfjob.client.events import EventRecorder
from tfjob.core.job import Owner
from tfjob.core.messages import MessageTemplate
from tfjob.core.plan import EventType, JobEvent, Rule
from tfjob.k8s.event import Event


class JobEventRecorder:
    """Records what is told of one job."""

    def __init__(
        self, recorder: EventRecorder, owner: Owner, *, component: str, version: str
    ) -> None:
        self._recorder = recorder
        self._component = component
        self._owner = owner
        self._version = version

    def tell(self, event: JobEvent) -> None:
        self._record(event)

    def done(
        self,
        phrase: MessageTemplate,
        *,
        kind: str,
        noun: str,
        child: str,
        uid: str,
        rule: Rule | None = None,
    ) -> None:
        """A child was made or removed, which is told once."""
        reason = phrase.reason.format(kind=kind)
        self._record(
            JobEvent(
                type=EventType.NORMAL,
                reason=reason,
                message=phrase.say(noun=noun, child=child),
                key=f"{reason}/{uid or child}",
                child=child,
                rule=rule,
            )
        )

    def failed(self, phrase: MessageTemplate, *, kind: str, child: str, error: str) -> None:
        """A child could not be made or removed, which is told again while it lasts.

        What only differs in the child's name is one event with a count, however wide the job is.
        """
        reason = phrase.reason.format(kind=kind)
        message = phrase.say(error=error)
        key = f"{reason}/{error.replace(child, '')}"
        event = JobEvent(type=EventType.WARNING, reason=reason, message=message, key=key)
        self._record(event, is_once=False)

    def _record(self, told: JobEvent, *, is_once: bool = True) -> None:
        owner = self._owner
        event = Event(
            type=str(told.type),
            reason=told.reason,
            message=told.message,
            api_version=owner.api_version,
            kind=owner.kind,
            namespace=owner.namespace,
            name=owner.name,
            uid=owner.uid,
            resource_version=self._version,
            component=self._component,
            child=told.child if told.rule is not None else "",
            rule=str(told.rule or ""),
        )
        self._recorder.record(event, key=told.key, is_once=is_once)
