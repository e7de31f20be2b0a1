"""Metrics, flags and chart values that the guides tell people to look at or set exist."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
GUIDE = ROOT / "docs" / "guide"
PAGES = ("troubleshooting.md", "kubeflow-v1.md")
METRICS = (ROOT / "docs/reference/metrics.md").read_text("utf-8")
FLAGS = (ROOT / "docs/reference/flags.md").read_text("utf-8")
VALUES = yaml.safe_load((ROOT / "charts/tfjob/values.yaml").read_text("utf-8"))
METRIC = re.compile(
    r"`((?:tfjob|tf_operator|workqueue|controller_runtime|rest_client)_\w+|\w+_total)"
)
FLAG = re.compile(r"`(--[a-z-]+)`")
VALUE = re.compile(r"`((?:operator|metrics|probes|networkPolicy|logging)(?:\.\w+)+)")


def has_value(path: str) -> bool:
    """Whether the chart has a value of this path."""
    found: object = VALUES
    for part in path.split("."):
        if not isinstance(found, dict) or part not in found:
            return False
        found = found[part]
    return True


def missing(text: str) -> list[str]:
    """What a page names and the references do not know."""
    return [
        *(each for each in METRIC.findall(text) if f"`{each}`" not in METRICS),
        *(each for each in FLAG.findall(text) if f"`{each}=" not in FLAGS),
        *(each for each in VALUE.findall(text) if not has_value(each)),
    ]


@pytest.mark.parametrize("page", PAGES)
def test_everything_named_on_the_page_exists(page: str) -> None:
    assert missing((GUIDE / page).read_text("utf-8")) == []


def test_an_unknown_metric_flag_or_value_is_reported() -> None:
    text = "`tfjob_nothing`, `--no-such-flag`, `operator.nothing=true`, `workqueue_depth`"
    assert missing(text) == ["tfjob_nothing", "--no-such-flag", "operator.nothing"]
