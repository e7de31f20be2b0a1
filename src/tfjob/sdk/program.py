"""Turns a script, a module or a function into the command and files that replicas run.

Errors such as a missing script or wrong arguments of a function are raised here, before anything is
created. A function of a module or a script is loaded by its name. A function that is defined in a
notebook, an interactive session or another function cannot be imported, so it is sent as a pickle.
"""

import importlib.util
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

import tfjob
from tfjob import train as train_module
from tfjob.sdk import launcher
from tfjob.sdk.code_place import CodePlace
from tfjob.sdk.errors import TFJobError

LAUNCH_FOLDER: Final = "/tfjob/launch"
"""Where replicas find the files of a program."""
_MANIFESTS: Final = frozenset({".yaml", ".yml", ".json"})
Train = Callable[..., object] | str | Path
Arguments = Sequence[Any] | Mapping[str, Any]


class Program(msgspec.Struct, frozen=True):
    name: str
    command: tuple[str, ...]
    files: Mapping[str, bytes] = {}


def program_for(train: Train, args: Arguments, code: CodePlace) -> Program:
    if isinstance(train, str | Path):
        if isinstance(args, Mapping | str):
            raise TFJobError(
                f"args of {train} must be a list of words, got {type(args).__name__}",
                remedy="write args=['--steps', '100']; only functions take keyword arguments",
            )
        if Path(train).suffix.lower() in _MANIFESTS:
            raise TFJobError(
                f"{str(train)!r} is a manifest, not a program",
                remedy="use connect().submit(TFJob.from_yaml(…)), or `tfjob run` in a shell",
            )
        words = tuple(map(str, args))
        if isinstance(train, Path) or train.endswith(".py") or "/" in train:
            return _of_script(Path(train), words, code)
        return _of_module(train, words, code)
    if not callable(train):
        raise TFJobError(
            f"{train!r} is neither a function nor the name of a script or module",
            remedy="pass a function, 'train.py' or 'package.train'",
        )
    return _of_function(train, args, code)


def _of_script(path: Path, words: tuple[str, ...], code: CodePlace) -> Program:
    return Program(path.stem, (code.python, code.script(path), *words))


def _of_module(name: str, words: tuple[str, ...], code: CodePlace) -> Program:
    parts = name.split(".")
    if not all(each.isidentifier() for each in parts):
        raise TFJobError(
            f"{name!r} is neither a script nor a module",
            remedy="scripts end in .py, and modules are written as package.train",
        )
    # Only the first part: looking for the others would import it.
    if code.folder is not None and not (
        any((code.folder / f"{parts[0]}{end}").exists() for end in ("", ".py"))
        or importlib.util.find_spec(parts[0])
    ):
        raise TFJobError(
            f"no module named {parts[0]!r} in {code.folder}, and none is installed",
            remedy="set code=… to the folder that contains it",
        )
    return Program(parts[-1], (code.python, "-m", name, *words))


def _of_function(function: Callable[..., object], args: Arguments, code: CodePlace) -> Program:
    name = getattr(function, "__qualname__", type(function).__name__)
    _check(function, name)
    positional, named = ([], dict(args)) if isinstance(args, Mapping) else (list(args), {})
    _check_arguments(function, name, positional, named)
    call, files = _reference(function, name, code)
    call |= {"name": name, "args": positional, "kwargs": named}
    package = Path(tfjob.__file__).read_bytes()
    files |= {
        "launcher.py": Path(launcher.__file__).read_bytes(),
        "call.json": json.dumps(call, indent=2).encode(),
        "packages/tfjob/__init__.py": package,
        "packages/tfjob/train.py": Path(train_module.__file__).read_bytes(),
    }
    return Program(name.rpartition(".")[2], (code.python, f"{LAUNCH_FOLDER}/launcher.py"), files)


def _check(function: Callable[..., object], name: str) -> None:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TFJobError(
            f"{name} is a generator function, and calling it runs nothing",
            remedy="remove its `yield`",
        )


def _check_arguments(
    function: Callable[..., object], name: str, positional: list[Any], named: dict[str, Any]
) -> None:
    try:
        copy = json.loads(json.dumps([positional, named]))
    except (TypeError, ValueError) as error:
        raise TFJobError(
            f"args of {name} must be JSON: {error}",
            remedy="pass numbers, strings, lists and dicts, and make the rest inside of it",
        ) from error
    if copy != [positional, named]:
        raise TFJobError(
            f"args of {name} must be JSON, and this changes when written as JSON:"
            f" {[positional, named]}",
            remedy="use lists instead of tuples, and strings as keys",
        )
    try:
        inspect.signature(function).bind(*positional, **named)
    except TypeError as error:
        raise TFJobError(
            f"{name} cannot be called with these args: {error}",
            remedy="pass args=[…] or args={…} that fit its parameters",
        ) from error
    except ValueError:
        return  # a builtin without a signature


def _reference(
    function: Callable[..., object], name: str, code: CodePlace
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """How a replica finds the function, and the files that it needs for that."""
    module = getattr(function, "__module__", None) or ""
    if module != "__main__" and _named(module, name) is function:
        file = getattr(sys.modules[module], "__file__", None)
        paths = code.import_paths(_root(module, Path(file)) if file else None, what=name)
        return {"kind": "module", "module": module, "qualname": name, "paths": paths}, {}
    script = _main_script(function, name)
    if script is not None and code.folder is not None:
        if running := _main_module(script):
            paths = code.import_paths(_root(running, script), what=name)
            return {"kind": "module", "module": running, "qualname": name, "paths": paths}, {}
        paths = code.import_paths(script.parent, what=name)
        found = {"kind": "script", "script": code.script(script), "qualname": name}
        return {**found, "paths": paths}, {}
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    paths = code.import_paths(None, what=name)
    return {"kind": "pickle", "python": version, "paths": paths}, _pickled(function, name)


def _named(module: str, name: str) -> object:
    found: object = sys.modules.get(module)
    for each in name.split("."):
        found = getattr(found, each, None)
    return found


def _root(module: str, file: Path) -> Path:
    """The folder from which the module can be imported."""
    depth = module.count(".") + (file.name == "__init__.py")
    return file.resolve().parents[depth]


def _main_script(function: Callable[..., object], name: str) -> Path | None:
    """The script that is running, if the function is written in it; not a notebook."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    source = getattr(getattr(function, "__code__", None), "co_filename", None)
    if not file or not source or _named("__main__", name) is not function:
        return None
    script = Path(file).resolve()
    return script if script.is_file() and Path(source).resolve() == script else None


def _main_module(script: Path) -> str:
    """The name under which `python -m` runs this file; empty if it is run as a script."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is None or spec.name == "__main__" or not spec.origin:
        return ""
    return str(spec.name) if Path(spec.origin).resolve() == script else ""


def _pickled(function: Callable[..., object], name: str) -> dict[str, bytes]:
    try:
        import cloudpickle  # noqa: PLC0415 - an optional package, for functions without a module
    except ImportError as error:
        raise TFJobError(
            f"{name} is not a function of a module or script, so it must be sent as a pickle, and"
            " cloudpickle is not installed",
            remedy="pip install 'tfjob[notebook]', or move the function into a module",
        ) from error
    try:
        content = cloudpickle.dumps(function)
    except Exception as error:  # objects raise whatever they like when they are pickled
        raise TFJobError(
            f"{name} cannot be sent: {type(error).__name__}: {error}",
            remedy="make what it uses inside of the function, not around it",
        ) from error
    package = Path(cloudpickle.__file__).parent
    sources = {
        f"pickling/cloudpickle/{each.name}": each.read_bytes() for each in package.glob("*.py")
    }
    return {"function.pickle": content, **sources}
