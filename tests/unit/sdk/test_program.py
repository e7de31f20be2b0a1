import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tfjob.sdk.code_place import CodePlace, code_place
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.program import program_for


def train(steps: int = 1) -> None:
    print(steps)


async def train_async() -> None:
    """Nothing."""


def generate() -> Iterator[int]:
    yield 1


@pytest.fixture
def here(tmp_path: Path) -> CodePlace:
    (tmp_path / "train.py").touch()
    return code_place(tmp_path, is_local=True)


def call_of(files: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files["call.json"])
    return found


def test_a_script_and_a_module_are_commands(here: CodePlace) -> None:
    script = program_for("train.py", ["--steps", "3"], here)
    assert script.name == "train"
    assert script.command == (sys.executable, f"{here.folder}/train.py", "--steps", "3")
    module = program_for("json.tool", [3], here)
    assert module.command == (sys.executable, "-m", "json.tool", "3")
    assert not script.files


def test_a_function_of_a_module_is_loaded_by_its_name(here: CodePlace) -> None:
    found = program_for(train, {"steps": 2}, here)
    call = call_of(found.files)
    assert (call["kind"], call["module"], call["qualname"]) == ("module", __name__, "train")
    assert (call["args"], call["kwargs"]) == ([], {"steps": 2})
    assert "function.pickle" not in found.files
    assert {"launcher.py", "packages/tfjob/train.py"} <= set(found.files)


def test_a_function_without_a_name_to_load_it_by_is_a_pickle(here: CodePlace) -> None:
    pytest.importorskip("cloudpickle", reason="NO CLOUDPICKLE: `make setup` installs it")
    found = program_for(lambda: None, (), here)
    assert call_of(found.files)["kind"] == "pickle"
    assert {"function.pickle", "pickling/cloudpickle/cloudpickle.py"} <= set(found.files)


def test_without_cloudpickle_the_error_says_what_to_install(
    here: CodePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(TFJobError) as caught:
        program_for(lambda: None, (), here)
    assert "pip install 'tfjob[notebook]'" in caught.value.remedy


def test_what_cannot_be_pickled_is_an_error(here: CodePlace) -> None:
    with Path("/dev/null").open("rb") as file, pytest.raises(TFJobError, match="cannot be sent"):
        program_for(lambda: print(file.read()), (), here)


@pytest.mark.parametrize(
    ("what", "args", "text"),
    [
        ("nothing.py", (), "no script 'nothing.py'"),
        ("job.yaml", (), "'job.yaml' is a manifest, not a program"),
        (Path("jobs/job.yml"), (), "is a manifest, not a program"),
        ("no_module_like_this", (), "no module named 'no_module_like_this'"),
        ("not a name", (), "neither a script nor a module"),
        ("train.py", {"steps": 1}, "must be a list of words"),
        ("train.py", "--steps", "must be a list of words"),
        (3, (), "neither a function nor"),
        (generate, (), "calling it runs nothing"),
        (train, [1, 2], "cannot be called with these args"),
        (train, {"step": 1}, "cannot be called with these args"),
        (train, [(1, 2)], "changes when written as JSON"),
        (train, [object()], "must be JSON"),
    ],
)
def test_mistakes_are_found_before_anything_is_created(
    here: CodePlace, what: Any, args: Any, text: str
) -> None:
    with pytest.raises(TFJobError, match=text):
        program_for(what, args, here)


def test_a_coroutine_function_is_taken(here: CodePlace) -> None:
    assert call_of(program_for(train_async, (), here).files)["qualname"] == "train_async"
