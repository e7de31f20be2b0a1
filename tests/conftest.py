"""How hard hypothesis looks for a counter-example, for every test.

HYPOTHESIS_PROFILE chooses: `ci` finds the same examples in every run, `dev` new ones each time.
Neither has a deadline: a busy machine is not a failure.
"""

import os

from hypothesis import settings

pytest_plugins = ("tests.support.controlplane.fixtures", "tests.support.environment_fixtures")

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("dev", deadline=None, max_examples=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
