"""The cause that the API server's message about a refused create shows."""

import pytest

from tfjob.core.diagnosis.api_refusals import cause_of
from tfjob.core.diagnosis.causes import Cause


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (
            'pods "j-worker-0" is forbidden: exceeded quota: q, requested: pods=1, used: pods=3',
            Cause.QUOTA_EXCEEDED,
        ),
        (
            'pods "j" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot',
            Cause.POD_SECURITY_VIOLATION,
        ),
        (
            "pods is forbidden: unable to validate against any security context constraint: []",
            Cause.POD_SECURITY_VIOLATION,
        ),
        (
            'Internal error occurred: failed calling webhook "w": connection refused',
            Cause.WEBHOOK_UNAVAILABLE,
        ),
        ('admission webhook "w" denied the request: no', Cause.WEBHOOK_DENIED),
        (
            (
                'pods "j" is forbidden: error looking up service account n/robot:'
                ' serviceaccount "robot" not found'
            ),
            Cause.SERVICE_ACCOUNT_MISSING,
        ),
        ('Pod "j" is invalid: spec.containers[0].image: Required value', Cause.INVALID_POD),
        ('strict decoding error: unknown field "spec.contaners"', Cause.INVALID_POD),
        ('pods "j-worker-0" already exists', Cause.NAME_TAKEN),
        ("something new", Cause.CREATE_REFUSED),
    ],
)
def test_a_refusal_is_known_by_its_text(message: str, cause: Cause) -> None:
    assert cause_of(message) is cause
