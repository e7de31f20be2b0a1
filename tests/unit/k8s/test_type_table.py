"""The table of built-in types."""

import pytest

from tfjob.k8s.type_table import fields_at, types


def test_every_type_of_the_table_is_defined() -> None:
    table = types()
    used = {kind.strip("[]{}?") for fields in table.values() for kind in fields.values()}
    assert {name for name in used if len(name) > 1} <= set(table)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("", "spec"),
        (".spec", "nodeSelector"),
        (".spec.containers[0]", "command"),
        (".spec.containers[12].env[3].valueFrom", "secretKeyRef"),
    ],
)
def test_fields_of_an_object_are_found_by_its_path(path: str, field: str) -> None:
    assert field in fields_at("PodTemplateSpec", path)


@pytest.mark.parametrize("path", [".nothing", ".spec.containers[0].name", ".spec.nodeSelector[a]"])
def test_path_to_no_object_has_no_fields(path: str) -> None:
    assert fields_at("PodTemplateSpec", path) == {}
