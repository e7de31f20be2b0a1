"""The frame that all definitions share."""

import pytest

from tfjob.dialects.base import Dialect
from tfjob.dialects.definition import AGE, Names, column, definition, version
from tfjob.dialects.registry import DIALECTS

NAMES = Names(group="g.dev", kind="Thing", list_kind="ThingList", plural="things", singular="thing")


def test_definition_is_named_after_plural_and_group() -> None:
    found = definition(NAMES, [version("v1", {"type": "object"}, columns=[AGE])])
    assert found["metadata"]["name"] == "things.g.dev"
    assert "shortNames" not in found["spec"]["names"]
    (only,) = found["spec"]["versions"]
    assert only["subresources"] == {"status": {}}
    assert only["schema"] == {"openAPIV3Schema": {"type": "object"}}


def test_wide_column_is_shown_on_demand() -> None:
    assert "priority" not in column("A", ".a")
    assert column("A", ".a", is_wide=True)["priority"] == 1


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda each: f"{each.group}/{each.version}")
def test_every_api_is_namespaced_with_a_status_of_its_own_and_no_webhook(dialect: Dialect) -> None:
    spec = dialect.crd()["spec"]
    assert (spec["group"], spec["scope"]) == (dialect.group, "Namespaced")
    assert (spec["names"]["kind"], spec["names"]["plural"]) == (dialect.kind, dialect.plural)
    assert spec["conversion"] == {"strategy": "None"}
    assert all("status" in each["subresources"] for each in spec["versions"])
    assert [each["storage"] for each in spec["versions"]].count(True) == 1
    assert dialect.version in {each["name"] for each in spec["versions"]}
