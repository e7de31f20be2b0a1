"""A controller harness for each test that asks for one."""

from contextlib import AbstractAsyncContextManager

import pytest

from tests.support.controller_harness import ControllerHarness, controller_harness


@pytest.fixture
def controller() -> AbstractAsyncContextManager[ControllerHarness]:
    """Used as `async with controller as harness`: everything lives in the test's own loop."""
    return controller_harness()
