"""Runs inside a replica: loads a function and calls it.

It is copied to the cluster, where tfjob may not be installed, so it imports only the standard
library. Whatever goes wrong ends the replica with an exit code other than 0 and one line that says
why: a function that cannot be found must never look like a job that has succeeded.
"""

import asyncio
import importlib
import importlib.util
import inspect
import json
import os
import pickle
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

LOADING = "TFJOB_LOADING"
"""The variable that is set while a replica loads its function."""
REPLICA_OF = "TFJOB_REPLICA_OF"
"""The variable that tells a program which job it is a replica of."""
_HERE = Path(__file__).absolute().parent
_MAIN = "__tfjob_main__"


def main(folder: Path = _HERE) -> None:
    call = json.loads((folder / "call.json").read_text("utf-8"))
    _extend_path(call, folder)
    os.environ[LOADING] = call["name"]
    function = _loaded(call, folder)
    del os.environ[LOADING]
    _check(function, call["name"])
    result = function(*call["args"], **call["kwargs"])
    if inspect.iscoroutine(result):
        asyncio.run(result)


def _extend_path(call: dict[str, Any], folder: Path) -> None:
    """Put the code first. What was copied for want of an installed package comes last."""
    # Python put the folder of this file at the front; the working directory belongs there.
    own = folder.resolve()
    others = [each for each in sys.path if Path(each or ".").resolve() != own]
    here = Path.cwd()
    code = [str(here), *(str(here / each) for each in call["paths"])]
    pickling = [str(folder / "pickling")] if call["kind"] == "pickle" else []
    sys.path[:] = [*pickling, *code, *others, str(folder / "packages")]


def _loaded(call: dict[str, Any], folder: Path) -> Any:
    name = call["name"]
    try:
        if call["kind"] == "pickle":
            return _unpickled(call, folder)
        if call["kind"] == "script":
            return _attribute(_script(call["script"]), call)
        return _attribute(importlib.import_module(call["module"]), call)
    except ModuleNotFoundError as error:
        _fail(f"{name}: no module named {error.name!r} in this replica; looked in {sys.path}")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user's code raises
        _fail(f"{name} cannot be loaded: {type(error).__name__}: {error}", error)


def _unpickled(call: dict[str, Any], folder: Path) -> Any:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if version != call["python"]:
        _fail(
            f"{call['name']} was sent from Python {call['python']}, and this replica runs"
            f" {version}, which cannot load it; use an image with Python {call['python']}, or move"
            " the function into a module"
        )
    return pickle.loads((folder / "function.pickle").read_bytes())  # noqa: S301 - the user's own


def _script(path: str) -> ModuleType:
    """The script as a module that is not the main one, so that its guarded part does not run."""
    spec = importlib.util.spec_from_file_location(_MAIN, path)
    if spec is None or spec.loader is None:
        _fail(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MAIN] = module
    spec.loader.exec_module(module)
    return module


def _attribute(module: ModuleType, call: dict[str, Any]) -> Any:
    found: Any = module
    for each in call["qualname"].split("."):
        if not hasattr(found, each):
            place = call.get("script") or call["module"]
            _fail(f"{call['name']}: {place} has no {each!r} in this replica")
        found = getattr(found, each)
    return found


def _check(function: Any, name: str) -> None:
    """Calling these would do nothing, or cannot be done."""
    if not callable(function):
        _fail(f"{name} is not a function but {type(function).__name__}")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        _fail(f"{name} is a generator function, and calling it runs nothing; remove its `yield`")


def _fail(text: str, error: BaseException | None = None) -> NoReturn:
    if error is not None:
        traceback.print_exception(error)
    sys.exit(f"tfjob: {text}")


if __name__ == "__main__":
    main()
