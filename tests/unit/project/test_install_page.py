"""Every chart value that the page on installing names exists."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tfjob.dialects.registry import DESCRIPTORS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/install.md").read_text("utf-8")
VALUES = yaml.safe_load((ROOT / "charts/tfjob/values.yaml").read_text("utf-8"))
TOLD = sorted(
    {
        *re.findall(r"--set ([\w.]+)=", PAGE),
        *re.findall(r"`([a-z]\w*(?:\.\w+)+)(?:=\w[\w.]*)?`", PAGE),
    }
    - {"values.yaml"}
    - {each.group for each in DESCRIPTORS}
    - {each.definition["metadata"]["name"] for each in DESCRIPTORS}
)


def value_at(path: str) -> Any:
    found: Any = VALUES
    for part in path.split("."):
        found = found[part]
    return found


@pytest.mark.parametrize("path", TOLD)
def test_each_value_on_the_page_exists(path: str) -> None:
    assert value_at(path) is not None


def test_the_page_names_values() -> None:
    assert {"image.repository", "namespaced.enabled", "operator.exitCodeTable"} <= {*TOLD}


def test_links_of_the_table_of_contents_lead_to_headings() -> None:
    wanted = re.findall(r"\]\(#([a-z0-9-]+)\)", PAGE)
    titles = re.findall(r"^##+ (.+)$", PAGE, re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
    assert wanted
    assert [each for each in wanted if each not in anchors] == []
