"""Checks that unit tests can be found: test files by module, and modules by test file.

`tests/unit/<package>/test_<name>.py` tests the module `<name>` of that package, and
`test_<name>_<part>.py` a part of it. Suites that test no single module are called
`test_scenarios…` or `test_properties…`, or are listed in SUITES. A long module without a test file
of its name is listed in ELSEWHERE with the file that tests it. Unused entries are faults.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

LONG = 200
"""A module of more lines needs a test file of its name."""

# Folders of tests whose modules are not in the package of that name under src/tfjob.
ROOTS: Mapping[str, str] = {"support": "tests/support", "benchmarks": "benchmarks"}
# The folder of tests of the project as a whole.
WHOLE = "project"

# Test files that are not named after a module, and what they are about.
SUITES: Mapping[str, str] = {
    "cli/test_bad_yaml": "files with mistakes, and what each command prints about them",
    "controller/test_settled": "jobs that have settled are not reconciled again",
    "controller/test_tenants": "objects of another namespace are never touched or trusted",
    "controller/test_unparsed": "jobs that cannot be parsed are left alone",
    "dialects/tensorstack/test_verdicts": "the CRD and the offline check agree",
    "dialects/test_one_truth": "the CRD and the operator agree on what is valid",
    "dialects/test_seed_lines": "single lines of published documents, one by one",
    "dialects/test_seeds": "published jobs mean what their documents say",
    "dialects/test_vendor_values": "each API lists its own values",
    "dialects/test_verdicts": "the CRD and the offline check agree",
    "local/apiserver/test_proxy": "requests that are passed on to pods",
    "manager/test_secrets": "no log contains credentials or users' data",
    "parsing/test_files": "hostile files, in every place that reads one",
    "parsing/test_nesting": "hostile nesting, in every place that reads JSON",
    "parsing/test_wire_bytes": "hostile bytes from an API server",
}
# Long modules without a test file of their name, and the file that tests each.
_CASES = "tests/conformance/test_api_cases.py"
ELSEWHERE: Mapping[str, str] = {
    "sdk/explanation": "tests/unit/cli/test_explain.py",
    "core/completion": "tests/unit/core/test_reconcile.py",
    "dialects/base": "tests/unit/dialects/test_registry.py",
    "dialects/tensorflow/job": "tests/unit/dialects/tensorflow/test_v1alpha1.py",
    "dialects/tensorstack/cel_rules": "tests/unit/dialects/tensorstack/test_verdicts.py",
    "dialects/tensorstack/schema": "tests/unit/dialects/tensorstack/test_v1beta1_crd.py",
    "local/apiserver/admission": _CASES,
    "k8s/cel_syntax": "tests/unit/k8s/test_cel.py",
    "local/apiserver/defaults": _CASES,
    "local/apiserver/builtin_validation": _CASES,
    "local/apiserver/schema_validation": _CASES,
    "local/apiserver/handlers/delete": _CASES,
}


def test_files(root: Path) -> Iterator[PurePosixPath]:
    """The test files under tests/unit, without suffix, except those of the whole project."""
    folder = root / "tests" / "unit"
    for path in sorted(folder.rglob("test_*.py")):
        found = PurePosixPath(path.relative_to(folder).with_suffix(""))
        if found.parts[0] != WHOLE:
            yield found


def modules_of(package: PurePosixPath, root: Path) -> set[str]:
    """The modules after which the tests of a package can be named."""
    if package.parts and package.parts[0] in ROOTS:
        folder = root / ROOTS[package.parts[0]]
        return {path.stem for path in folder.rglob("*.py")}
    return {path.stem for path in (root / "src" / "tfjob" / package).glob("*.py")}


def is_named_after(name: str, modules: set[str]) -> bool:
    """Whether a test file is named after one of the modules or a part of one."""
    return any(name == f"test_{each}" or name.startswith(f"test_{each}_") for each in modules)


def homeless(root: Path, suites: Mapping[str, str]) -> Iterator[str]:
    """Test files that are not named after a module, and unused entries of SUITES."""
    found = list(test_files(root))
    for test in found:
        is_suite = test.name.startswith(("test_scenarios", "test_properties"))
        is_named = is_suite or is_named_after(test.name, modules_of(test.parent, root))
        if is_named and str(test) in suites:
            yield f"tools/mirror.py: {test} is named after a module; remove it from SUITES"
        elif not is_named and str(test) not in suites:
            yield (
                f"tests/unit/{test}.py: {test.parent} has no module of this name; name the file "
                "after what it tests, or add it to SUITES in tools/mirror.py"
            )
    for name in suites:
        if PurePosixPath(name) not in found:
            yield f"tools/mirror.py: {name} of SUITES does not exist; remove the entry"


def untested(root: Path, elsewhere: Mapping[str, str]) -> Iterator[str]:
    """Long modules without a test file of their name, and unused entries of ELSEWHERE."""
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
                f"test_{module.name}.py; add it, or name the file that tests it in tools/mirror.py"
            )
    for name, test in elsewhere.items():
        if name not in needed:
            yield f"tools/mirror.py: {name} of ELSEWHERE is not needed; remove the entry"
        elif not (root / test).is_file():
            yield f"tools/mirror.py: {name} is listed as tested in {test}, which does not exist"


def main(
    root: Path,
    *,
    suites: Mapping[str, str] = SUITES,
    elsewhere: Mapping[str, str] = ELSEWHERE,
) -> int:
    """Print the faults; return 1 if there are any."""
    found = [*homeless(root, suites), *untested(root, elsewhere)]
    print("\n".join(found) or "mirror: every test file has a module, every long module a test file")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path.cwd()))
