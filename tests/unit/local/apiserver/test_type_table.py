"""The table of built-in types."""

from tfjob.local.apiserver.type_table import types


def test_every_type_of_the_table_is_defined() -> None:
    table = types()
    used = {kind.strip("[]{}?") for fields in table.values() for kind in fields.values()}
    assert {name for name in used if len(name) > 1} <= set(table)
