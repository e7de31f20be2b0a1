"""Checks that unit tests can be found: test files by module, and modules by test file.

`tests/unit/<room>/test_<name>.py` tests the module `<name>` of that room; `test_<name>_<part>.py`
tests a part of it. Files whose subject is no single module are called `test_scenarios…` or
`test_properties…`, or stand in SUITES. A long module without a test file of its name stands in
ELSEWHERE with the file that tests it. An entry that nothing needs is a fault as well.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

LONG = 200
"""Lines from which on a module needs a test file of its name."""

# The folders of tests whose modules are not those of the room of that name under src/tfjob.
ROOTS: Mapping[str, str] = {"support": "tests/support", "benchmarks": "benchmarks"}
# These check the project as a whole.
WHOLE = "house"

# A test file that is named after no module -> what it is about.
SUITES: Mapping[str, str] = {
    "cli/test_bad_yaml": "files with mistakes, and what each verb says about them",
    "controller/test_settled": "jobs that have settled are not reconciled again",
    "controller/test_tenants": "objects of another namespace are never touched or trusted",
    "controller/test_unparsed": "jobs that cannot be parsed are left alone",
    "dialects/kubeflow/test_worked_objects": "whole objects, byte for byte",
    "dialects/tensorstack/test_verdicts": "the CRD and the offline check agree",
    "dialects/test_one_truth": "the CRD and the operator agree on what is valid",
    "dialects/test_seeds": "published jobs mean what their documents say",
    "dialects/test_vendor_values": "each API lists its own values",
    "dialects/test_verdicts": "the CRD and the offline check agree",
    "local/apiserver/test_proxy": "requests that are passed on to pods",
    "manager/test_secrets": "no log holds a credential or a user's data",
    "parsing/test_files": "hostile files, in every place that reads one",
    "parsing/test_nesting": "hostile nesting, in every place that reads JSON",
    "parsing/test_wire_bytes": "hostile bytes from an API server",
}
# A long module without a test file of its name -> the file that tests it.
_CASES = "tests/conformance/test_api_cases.py"
ELSEWHERE: Mapping[str, str] = {
    "core/completion": "tests/unit/core/test_reconcile.py",
    "dialects/tensorflow/job": "tests/unit/dialects/tensorflow/test_v1alpha1.py",
    "dialects/tensorstack/cel_rules": "tests/unit/dialects/tensorstack/test_verdicts.py",
    "dialects/tensorstack/schema": "tests/unit/dialects/tensorstack/test_crd.py",
    "local/apiserver/admission": _CASES,
    "k8s/cel_syntax": "tests/unit/k8s/test_cel.py",
    "local/apiserver/defaults": _CASES,
    "local/apiserver/printers": _CASES,
    "local/apiserver/builtin_validation": _CASES,
    "local/apiserver/schema_validation": _CASES,
    "local/apiserver/handlers/delete": _CASES,
}


def test_files(root: Path) -> Iterator[PurePosixPath]:
    """Every test file under tests/unit, without its ending, but for those of the whole project."""
    folder = root / "tests" / "unit"
    for path in sorted(folder.rglob("test_*.py")):
        found = PurePosixPath(path.relative_to(folder).with_suffix(""))
        if found.parts[0] != WHOLE:
            yield found


def modules_of(room: PurePosixPath, root: Path) -> set[str]:
    """The names of the modules that the tests of a room may be called after."""
    if room.parts[0] in ROOTS:
        folder = root / ROOTS[room.parts[0]]
        return {path.stem for path in folder.rglob("*.py")}
    return {path.stem for path in (root / "src" / "tfjob" / room).glob("*.py")}


def is_named_after(name: str, modules: set[str]) -> bool:
    """Whether a test file is called after one of the modules, or after one and a part of it."""
    return any(name == f"test_{each}" or name.startswith(f"test_{each}_") for each in modules)


def homeless(root: Path, suites: Mapping[str, str]) -> Iterator[str]:
    """Test files that are called after nothing, and suites that are not needed."""
    found = list(test_files(root))
    for test in found:
        is_suite = test.name.startswith(("test_scenarios", "test_properties"))
        is_named = is_suite or is_named_after(test.name, modules_of(test.parent, root))
        if is_named and str(test) in suites:
            yield f"tools/mirror.py: {test} is named after a module: remove it from SUITES"
        elif not is_named and str(test) not in suites:
            yield (
                f"tests/unit/{test}.py: no module of {test.parent} has this name: name the file "
                "after what it tests, or say in tools/mirror.py what it is about"
            )
    for name in suites:
        if PurePosixPath(name) not in found:
            yield f"tools/mirror.py: {name} of SUITES does not exist: remove the entry"


def untested(root: Path, elsewhere: Mapping[str, str]) -> Iterator[str]:
    """Long modules that no test file is called after, and entries that are not needed."""
    source = root / "src" / "tfjob"
    tests = list(test_files(root))
    needed = set()
    for path in sorted(source.rglob("*.py")):
        module = PurePosixPath(path.relative_to(source).with_suffix(""))
        lines = len(path.read_text("utf-8").splitlines())
        has_test = any(
            each.parent == module.parent and is_named_after(each.name, {module.name})
            for each in tests
        )
        if lines <= LONG or has_test:
            continue
        needed.add(str(module))
        if str(module) not in elsewhere:
            yield (
                f"src/tfjob/{module}.py: {lines} lines and no tests/unit/{module.parent}/"
                f"test_{module.name}.py: add it, or say in tools/mirror.py which file tests it"
            )
    for name, test in elsewhere.items():
        if name not in needed:
            yield f"tools/mirror.py: {name} of ELSEWHERE needs no entry: remove it"
        elif not (root / test).is_file():
            yield f"tools/mirror.py: {name} is said to be tested in {test}, which does not exist"


def main(
    root: Path,
    *,
    suites: Mapping[str, str] = SUITES,
    elsewhere: Mapping[str, str] = ELSEWHERE,
) -> int:
    """Print the faults; 1 if there are any."""
    found = [*homeless(root, suites), *untested(root, elsewhere)]
    print("\n".join(found) or "mirror: every test file has a module, every long module a test file")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path.cwd()))
