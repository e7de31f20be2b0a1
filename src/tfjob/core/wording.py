"""The sentences a job says, as patterns: reasons and messages of conditions and events.

Tools match these texts, so each API brings its own; who fills in the facts does not choose words.
"""

import msgspec


class Phrase(msgspec.Struct, frozen=True):
    reason: str
    message: str
    type: str = ""
    """`Normal` or `Warning`, where its event is of another type than is usual."""

    def say(self, **facts: object) -> str:
        return self.message.format(**facts)


class Wording(msgspec.Struct, frozen=True):
    created: Phrase
    running: Phrase
    restarting: Phrase
    succeeded: Phrase
    suspended: Phrase
    resumed: Phrase
    failed: Phrase
    failed_exit_code: Phrase
    failed_backoff: Phrase
    failed_deadline: Phrase
    invalid: Phrase
    exited: Phrase
    template_policy: Phrase
    other_scheduler: Phrase
    container_terminated: Phrase
    container_waiting: Phrase
    pod_condition: Phrase
    stuck_terminating: Phrase
    group_terminated: Phrase
    child_created: Phrase
    child_create_failed: Phrase
    child_deleted: Phrase
    child_delete_failed: Phrase
    component: str
    master_advice: str
    """What to do about a distributed job with the task type `master`."""
    coordinator_advice: str
    """What to do about parameter servers without a chief."""
    group_create_failed: Phrase | None = None
    """Said instead where it is the gang's group that cannot be made."""
