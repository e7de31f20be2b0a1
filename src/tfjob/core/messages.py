"""Templates of the reasons and messages of conditions and events.

Tools match these texts, so each dialect defines its own; the core only fills in parameters.
"""

import msgspec


class MessageTemplate(msgspec.Struct, frozen=True):
    reason: str
    message: str
    type: str = ""
    """`Normal` or `Warning`, to override the usual type of the event."""

    def render(self, **params: object) -> str:
        return self.message.format(**params)


class Messages(msgspec.Struct, frozen=True):
    created: MessageTemplate
    running: MessageTemplate
    restarting: MessageTemplate
    succeeded: MessageTemplate
    suspended: MessageTemplate
    resumed: MessageTemplate
    failed: MessageTemplate
    failed_exit_code: MessageTemplate
    failed_backoff: MessageTemplate
    failed_deadline: MessageTemplate
    invalid: MessageTemplate
    exited: MessageTemplate
    template_policy: MessageTemplate
    other_scheduler: MessageTemplate
    container_terminated: MessageTemplate
    container_waiting: MessageTemplate
    pod_condition: MessageTemplate
    stuck_terminating: MessageTemplate
    group_terminated: MessageTemplate
    child_created: MessageTemplate
    child_create_failed: MessageTemplate
    child_deleted: MessageTemplate
    child_delete_failed: MessageTemplate
    component: str
    master_advice: str
    """Hint for a distributed job with the task type `master`."""
    coordinator_advice: str
    """Hint for a job with parameter servers and no chief."""
    group_create_failed: MessageTemplate | None = None
    """Used instead of `child_create_failed` for the PodGroup."""
