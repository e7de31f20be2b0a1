"""What holds for every test: where tfjob keeps its state, and how hard hypothesis looks.

HYPOTHESIS_PROFILE chooses: `ci` finds the same examples in every run, `dev` new ones each time.
Neither has a deadline: a busy machine is not a failure.
"""

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

pytest_plugins = (
    "tests.support.cluster_in_process",
    "tests.support.controlplane.fixtures",
    "tests.support.environment_fixtures",
)

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("dev", deadline=None, max_examples=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        # As under nohup or in the background of a shell. A handler is not inherited, so programs
        # under test get the signal.
        signal.signal(number, lambda *_: None)


@pytest.fixture(scope="session", autouse=True)
def state_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The runs and the local cluster of the user who runs the tests are left alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
