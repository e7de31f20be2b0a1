"""Writes the generated files of the project, or checks that they are current.

GENERATED lists each file with the function that returns its content from the checkout. A file may
have parts that are written by hand. Nothing else writes these files.
"""

import difflib
import sys
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tfjob.dialects.descriptor import Descriptor
from tfjob.dialects.registry import DESCRIPTORS
from tools import (
    chart,
    promises,
    reference,
    roles,
    scenarios,
    seed_documents,
    seeds,
    side_by_side,
)


class Generated(NamedTuple):
    """A file, and the function that returns its content for a checkout root."""

    path: str
    render: Callable[[Path], str]


def _definition(descriptor: Descriptor) -> Generated:
    """One CRD file per API; its versions share a CRD."""
    path = f"{chart.CHART}/{chart.definition_path(descriptor)}"
    return Generated(path, lambda _root: chart.definition(descriptor))


# Enough to see what changed.
DIFFERENCE_LINES = 20
GENERATED = (
    Generated("docs/scenarios.md", scenarios.page),
    Generated("docs/promises.md", promises.page),
    Generated("docs/seeds.md", seeds.page),
    Generated("docs/seed-documents.md", seed_documents.page),
    Generated("docs/side-by-side.md", side_by_side.page),
    *map(_definition, DESCRIPTORS),
    Generated(chart.TEMPLATE, lambda _root: chart.template()),
    Generated(chart.VALUES, chart.values_of),
    Generated(chart.SCHEMA, chart.schema_of),
    Generated("charts/tfjob/templates/_rules.tpl", roles.page),
    Generated("docs/reference/flags.md", reference.flags),
    Generated("docs/reference/metrics.md", reference.metrics),
    Generated("docs/reference/causes.md", reference.causes),
)


def write(root: Path, files: Iterable[Generated]) -> None:
    """Write each file that is not current."""
    for each in files:
        target, text = root / each.path, each.render(root)
        if _stored(target) != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8")
            print(f"generate: wrote {each.path}")


def stale(root: Path, files: Iterable[Generated]) -> list[str]:
    """The first lines of the diff of each file that is not current."""
    found = []
    for each in files:
        before, after = _stored(root / each.path), each.render(root)
        if before != after:
            lines = difflib.unified_diff(
                before.splitlines(),
                after.splitlines(),
                each.path,
                "generated now",
                lineterm="",
                n=0,
            )
            found.append("\n".join(islice(lines, DIFFERENCE_LINES)))
    return found


def _stored(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


def main(arguments: list[str], *, root: Path, files: Iterable[Generated] = GENERATED) -> int:
    """Write the files; with --check only compare them, and return 1 if any is stale."""
    if "--check" not in arguments:
        write(root, files)
        return 0
    found = stale(root, files)
    print("\n".join([*found, "run `make generate`"]) if found else "generated files: current")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], root=Path.cwd()))
