"""The page about the architecture names existing modules."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "architecture.md"
PACKAGES = ROOT / "src" / "tfjob"
NAMED = re.compile(r"\b(client|controller|core|dialects|manager)\.([a-z_]+)\b")


def missing(text: str) -> set[str]:
    return {
        f"{package}.{module}"
        for package, module in NAMED.findall(text)
        if not (PACKAGES / package / f"{module}.py").is_file()
    }


def test_every_module_on_the_page_exists() -> None:
    text = PAGE.read_text("utf-8")
    assert len(set(NAMED.findall(text))) > 10
    assert missing(text) == set()


def test_module_that_does_not_exist_is_noticed() -> None:
    assert missing("controller.pacing, controller.apply") == {"controller.apply"}


def test_the_page_lists_exactly_the_existing_packages() -> None:
    rows = re.findall(r"^\| `([a-z0-9]+)` \| ", PAGE.read_text("utf-8"), re.MULTILINE)
    folders = {each.name for each in PACKAGES.iterdir() if (each / "__init__.py").is_file()}
    modules = {each.stem for each in PACKAGES.glob("*.py")} - {"__init__"}
    assert set(rows) == folders | modules
