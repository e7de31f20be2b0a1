"""What `import tfjob` offers, and what it costs."""

import importlib.metadata
import subprocess
import sys

import pytest

import tfjob
from tfjob.sdk.client import connect
from tfjob.sdk.job import TFJob
from tfjob.sdk.run import run

HEAVY = ("aiohttp", "cryptography", "msgspec", "rich", "yaml", "tfjob.client", "tfjob.dialects")


def test_the_public_names_are_these() -> None:
    assert tfjob.__all__ == ["TFJob", "__version__", "connect", "run"]
    assert dir(tfjob) == sorted(tfjob.__all__)
    assert (tfjob.TFJob, tfjob.connect, tfjob.run) == (TFJob, connect, run)
    assert not hasattr(tfjob, "nothing_like_this")


def test_the_installed_version_is_the_one_of_the_source() -> None:
    assert importlib.metadata.version("tfjob") == tfjob.__version__


@pytest.mark.parametrize(
    ("statement", "others"),
    [("import tfjob", ("asyncio", "tfjob.sdk")), ("from tfjob import TFJob, connect, run", ())],
)
def test_import_alone_loads_nothing_heavy(statement: str, others: tuple[str, ...]) -> None:
    heavy = HEAVY + others
    code = f"import sys; {statement}; print([each for each in {heavy!r} if each in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
