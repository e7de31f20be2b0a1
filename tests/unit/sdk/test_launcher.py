"""The launcher runs as in a replica: a process of its own, in the folder of the code."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tfjob.sdk.code_place import code_place
from tfjob.sdk.program import program_for

MODULE = """
import sys
def train(steps=1): print("trained", steps)
async def later(): print("later")
def items(): yield 1
class Model:
    @staticmethod
    def fit(): print("fitted")
number = 3
"""


def launch(folder: Path, code: str = MODULE, **call: Any) -> subprocess.CompletedProcess[str]:
    """Call a function of `model.py` in a folder of its own."""
    place = folder / "launch"
    program = program_for(_nothing, (), code_place(folder, is_local=True))
    (folder / "model.py").write_text(code)
    known = {"kind": "module", "module": "model", "qualname": "train", "name": "train"}
    files = {
        **program.files,
        "call.json": json.dumps({**known, "paths": [], "args": [], "kwargs": {}, **call}).encode(),
    }
    for name, content in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    command = [sys.executable, str(place / "launcher.py")]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def _nothing() -> None:
    """A function of a module, for its files."""


@pytest.mark.parametrize(
    ("call", "output"),
    [
        ({"kwargs": {"steps": 2}}, "trained 2\n"),
        ({"args": [3]}, "trained 3\n"),
        ({"qualname": "later"}, "later\n"),
        ({"qualname": "Model.fit"}, "fitted\n"),
        ({"kind": "script", "script": "model.py"}, "trained 1\n"),
    ],
)
def test_the_function_is_called(tmp_path: Path, call: dict[str, Any], output: str) -> None:
    done = launch(tmp_path, **call)
    assert (done.stdout, done.returncode) == (output, 0), done.stderr


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ({"module": "nothing"}, "no module named 'nothing' in this replica"),
        ({"qualname": "nothing"}, "model has no 'nothing' in this replica"),
        ({"qualname": "Model.nothing"}, "model has no 'nothing'"),
        ({"qualname": "number"}, "is not a function but int"),
        ({"qualname": "items"}, "calling it runs nothing"),
        ({"kind": "script", "script": "nothing.py"}, "cannot be loaded: FileNotFoundError"),
        ({"kind": "pickle", "python": "2.7"}, "was sent from Python 2.7"),
    ],
)
def test_a_function_that_cannot_be_loaded_fails_and_says_why(
    tmp_path: Path, call: dict[str, Any], text: str
) -> None:
    done = launch(tmp_path, **call)
    assert done.returncode == 1
    assert text in done.stderr.splitlines()[-1]
    assert done.stderr.splitlines()[-1].startswith("tfjob: ")


@pytest.mark.parametrize("code", ["import sys; sys.exit(0)", "raise ValueError('no')", "1 +"])
def test_code_that_ends_or_fails_while_it_is_loaded_never_succeeds(
    tmp_path: Path, code: str
) -> None:
    done = launch(tmp_path, code)
    assert done.returncode == 1
    assert "tfjob: train cannot be loaded: " in done.stderr


def test_a_failing_function_fails_the_replica(tmp_path: Path) -> None:
    done = launch(tmp_path, "def train(): raise ValueError('no data')")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ValueError: no data"


def test_a_replica_that_would_start_jobs_itself_is_refused(tmp_path: Path) -> None:
    code = "from tfjob import run\ndef train(): pass\nrun(train)"
    done = launch(tmp_path, code, kind="script", script="model.py")
    assert done.returncode == 1
    assert 'put the call under `if __name__ == "__main__":`' in done.stderr
