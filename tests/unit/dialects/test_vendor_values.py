"""Each API lists its own enum values, independent of those of the core."""

import ast
from pathlib import Path

import pytest

import tfjob.dialects
from tests.unit.dialects.schemas import pieces
from tfjob.core.job import RestartPolicy
from tfjob.dialects.base import Dialect
from tfjob.dialects.registry import DIALECTS

LISTED = {
    "kubeflow.org/v1": ["", "Always", "ExitCode", "Never", "OnFailure"],
    "kubeflow.org/v1beta1": ["", "Always", "ExitCode", "Never", "OnFailure"],
    "batch.tensorstack.dev/v1beta1": ["Always", "ExitCode", "Never", "OnFailure"],
    "tensorflow.org/v1alpha1": None,
}
"""The restart policies of a replica type; the oldest API has no such field."""
ENUMS = {"RestartPolicy", "CleanPolicy"}


def listed(dialect: Dialect) -> list[str] | None:
    for version in dialect.crd()["spec"]["versions"]:
        for path, piece in pieces(version["schema"]["openAPIV3Schema"]):
            if version["name"] == dialect.version and path.endswith("[].restartPolicy"):
                return list(piece["enum"])
    return None


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda each: f"{each.group}/{each.version}")
def test_restart_policies_of_an_api_are_its_own_and_all_can_be_run(dialect: Dialect) -> None:
    found = listed(dialect)
    assert found == LISTED[f"{dialect.group}/{dialect.version}"]
    assert {each for each in found or () if each} <= {str(each) for each in RestartPolicy}


@pytest.mark.parametrize(
    "path",
    sorted(Path(tfjob.dialects.__file__).parent.glob("*/schema.py")),
    ids=lambda path: path.parent.name,
)
def test_no_schema_is_written_from_an_enum_of_the_core(path: Path) -> None:
    names = {
        alias.name
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert not names & ENUMS
