"""Which replicas a diagnosis looks at."""

import pytest

from tests.support.builders import a_job, a_pod
from tfjob.core.diagnosis.suspects import suspects
from tfjob.core.observe import Children, observe
from tfjob.k8s.pod import ContainerState, ContainerStatus, Pod, Running

WELL = ContainerStatus(name="tensorflow", state=ContainerState(running=Running()))


@pytest.mark.parametrize(
    ("pod", "is_suspect"),
    [
        (a_pod(others=[WELL]), False),
        (a_pod(), False),
        (a_pod(phase="Pending"), True),
        (a_pod(phase="Failed", exit_code=1), True),
        (a_pod(deleted=-5), True),
        (a_pod(restarts=1), True),
        (a_pod(exit_code=1), True),
        (a_pod(waiting=("ErrImagePull", "")), True),
        (a_pod(init=[ContainerStatus(name="init", restart_count=1)]), True),
    ],
)
def test_only_an_undisturbed_run_is_no_suspect(pod: Pod, is_suspect: bool) -> None:
    observed = observe(a_job("W2", restart="OnFailure"), Children(pods=[pod]))
    assert [each.pod for each in suspects(observed)] == ([pod] if is_suspect else [])
