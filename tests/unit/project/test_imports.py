"""The tree keeps the import contracts, and a forbidden import breaks them."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LINTER = Path(sys.executable).with_name("lint-imports")
PURE_PACKAGES = ("k8s", "core", "dialects")
OUTSIDE = (
    "asyncio",
    "aiohttp",
    "logging",
    "os",
    "random",
    "socket",
    "sqlite3",
    "subprocess",
    "time",
)


def run_linter(folder: Path, modules: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Lint a package of the given modules (dotted name below tfjob -> source)."""
    for name, source in {"": "", **modules}.items():
        path = folder.joinpath("tfjob", *name.split(".")).with_suffix(".py")
        if name == "" or any(other.startswith(f"{name}.") for other in modules):
            path = folder.joinpath("tfjob", *name.split("."), "__init__.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        for parent in path.relative_to(folder).parents[:-1]:
            (folder / parent / "__init__.py").touch()
    command = [str(LINTER), "--config", str(ROOT / ".importlinter"), "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def assert_broken(folder: Path, modules: Mapping[str, str], contract: str) -> None:
    done = run_linter(folder, modules)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{contract} BROKEN" in done.stdout


def test_an_empty_package_keeps_every_contract(tmp_path: Path) -> None:
    done = run_linter(tmp_path, {})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 kept, 0 broken" in done.stdout


def test_packages_that_import_downwards_keep_every_contract(tmp_path: Path) -> None:
    packages = {
        "k8s.meta": "import json",
        "core.job": "import tfjob.k8s.meta",
        "client.http": "import aiohttp\nimport tfjob.k8s.meta",
        "dialects.base": "import tfjob.core.job",
        "controller.worker": "import tfjob.dialects.base\nimport tfjob.client.http",
        "manager.app": "import asyncio\nimport tfjob.controller.worker",
        "local.cluster": "import tfjob.manager.app",
        "cli.main": "import tfjob.local.cluster",
    }
    done = run_linter(tmp_path, packages)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("k8s", "core"),
        ("k8s", "client"),
        ("core", "client"),
        ("client", "core"),
        ("core", "dialects"),
        ("dialects", "controller"),
        ("controller", "manager"),
        ("manager", "local"),
        ("local", "dashboard"),
        ("dashboard", "local"),
        ("dashboard", "cli"),
    ],
)
def test_a_package_that_imports_upwards_or_sideways_breaks_the_contract(
    tmp_path: Path, importer: str, imported: str
) -> None:
    modules = {f"{importer}.a": f"import tfjob.{imported}.b", f"{imported}.b": ""}
    assert_broken(tmp_path, modules, "A package imports only the packages below it")


def test_a_new_package_needs_a_decision(tmp_path: Path) -> None:
    assert_broken(tmp_path, {"attic.a": ""}, "A package imports only the packages below it")


def test_no_pure_package_may_import_io(tmp_path: Path) -> None:
    modules = {
        f"{package}.a": "\n".join(f"import {each}" for each in OUTSIDE) for package in PURE_PACKAGES
    }
    done = run_linter(tmp_path, modules)
    for package in PURE_PACKAGES:
        for module in OUTSIDE:
            assert f"tfjob.{package} is not allowed to import {module}:" in done.stdout


def test_a_pure_package_may_not_import_io_through_a_submodule(tmp_path: Path) -> None:
    contract = "Pure packages use no clock, no randomness and no IO"
    assert_broken(tmp_path, {"core.a": "from os.path import join"}, contract)


def test_a_policy_that_imports_another_breaks_the_contract(tmp_path: Path) -> None:
    modules = {"core.success": "import tfjob.core.pod_group", "core.pod_group": ""}
    assert_broken(tmp_path, modules, "The policies of the core do not import each other")


def test_a_policy_that_reaches_another_through_a_third_file_breaks_the_contract(
    tmp_path: Path,
) -> None:
    modules = {
        "core.limits": "import tfjob.core.replicas",
        "core.replicas": "import tfjob.core.cleanup",
        "core.cleanup": "",
    }
    assert_broken(tmp_path, modules, "The policies of the core do not import each other")


_INDEPENDENT = "The dialects do not import each other"


@pytest.mark.parametrize("imported", ["kubeflow.words", "kubeflow.descriptor", "kubeflow"])
def test_a_dialect_that_imports_another_breaks_the_contract(tmp_path: Path, imported: str) -> None:
    """Also in a folder that the contract has never heard of."""
    modules = {
        "dialects.quite_new.v1.spec": f"import tfjob.dialects.{imported}",
        f"dialects.{imported}": "",
    }
    assert_broken(tmp_path, modules, _INDEPENDENT)


def test_a_dialect_that_reaches_another_through_a_shared_file_breaks_the_contract(
    tmp_path: Path,
) -> None:
    modules = {
        "dialects.quite_new.v1": "import tfjob.dialects.base",
        "dialects.base": "import tfjob.dialects.tensorflow.api",
        "dialects.tensorflow.words": "",
    }
    assert_broken(tmp_path, modules, _INDEPENDENT)


def test_the_registry_that_knows_more_of_a_dialect_than_its_descriptor_breaks_the_contract(
    tmp_path: Path,
) -> None:
    modules = {
        "dialects.registry": "import tfjob.dialects.quite_new.v1",
        "dialects.quite_new.v1": "",
    }
    assert_broken(tmp_path, modules, _INDEPENDENT)


def test_dialects_that_share_files_and_are_registered_keep_the_contract(tmp_path: Path) -> None:
    modules = {
        "dialects.registry": "import tfjob.dialects.quite_new.descriptor",
        "dialects.quite_new.descriptor": "import tfjob.dialects.quite_new.v1",
        "dialects.quite_new.v1": (
            "import tfjob.dialects.base\nimport tfjob.dialects.conversion_base"
        ),
        "dialects.conversion_base": "import tfjob.dialects.kubeflow.api",
        "dialects.kubeflow.api": "import tfjob.dialects.base",
        "dialects.base": "",
    }
    done = run_linter(tmp_path, modules)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("part", ["apiserver", "node"])
@pytest.mark.parametrize("package", ["core", "dialects", "controller", "manager"])
def test_local_parts_that_know_of_jobs_break_the_contract(
    tmp_path: Path, part: str, package: str
) -> None:
    modules = {f"local.{part}.a": f"import tfjob.{package}.b", f"{package}.b": ""}
    assert_broken(tmp_path, modules, "The local API server and node know Kubernetes, not TFJobs")
