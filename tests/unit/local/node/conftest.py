"""A running node for each test that needs one."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.local.node.fake_api import FakeApi
from tests.unit.local.node.whole_node import node


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[FakeApi]:
    """The API server of a running node."""
    fake = FakeApi()
    async with node(fake, tmp_path):
        yield fake
