"""What `import tfjob` offers, and what it costs."""

import importlib.metadata
import subprocess
import sys

import tfjob
from tfjob.sdk.client import connect
from tfjob.sdk.job import TFJob
from tfjob.sdk.run import run

HEAVY = ("aiohttp", "asyncio", "cryptography", "msgspec", "yaml", "tfjob.sdk")


def test_the_public_names_are_these() -> None:
    assert tfjob.__all__ == ["TFJob", "__version__", "connect", "run"]
    assert dir(tfjob) == sorted(tfjob.__all__)
    assert (tfjob.TFJob, tfjob.connect, tfjob.run) == (TFJob, connect, run)
    assert not hasattr(tfjob, "nothing_like_this")


def test_the_installed_version_is_the_one_of_the_source() -> None:
    assert importlib.metadata.version("tfjob") == tfjob.__version__


def test_import_alone_loads_nothing_heavy() -> None:
    code = f"import sys, tfjob; print([each for each in {HEAVY!r} if each in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
