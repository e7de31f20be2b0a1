"""A controller harness for each test that requests one."""

from contextlib import AbstractAsyncContextManager

import pytest

from tests.support.controller_harness import ControllerHarness, controller_harness


@pytest.fixture
def controller() -> AbstractAsyncContextManager[ControllerHarness]:
    """Used as `async with controller as harness`: everything runs in the test's event loop."""
    return controller_harness()
