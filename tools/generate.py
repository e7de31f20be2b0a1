"""Writes the generated files of the project, or checks that they are current.

A generated file is a pure function of the checkout. GENERATED is the list of them: path and
function. Nothing else in the project may write one of these paths.
"""

import difflib
import sys
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tfjob.dialects.base import Dialect
from tfjob.dialects.registry import DIALECTS
from tools import reference, roles, scenarios


class Generated(NamedTuple):
    """A file, and the function of the checkout's root that says what must be in it."""

    path: str
    render: Callable[[Path], str]


class _Dumper(yaml.SafeDumper):
    """Writes everything out where it stands: a reader of a diff follows no anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - asked about each value
        return True


def crd_file(dialect: Dialect) -> Generated:
    """The definition of a dialect's API, as the chart installs it."""
    group, plural = dialect.group, dialect.plural
    text = yaml.dump(dialect.crd(), Dumper=_Dumper, sort_keys=False, width=100)
    header = "# Made from the code by `make generate`; not edited by hand.\n"
    return Generated(f"charts/tfjob/crds/{group}_{plural}.yaml", lambda _root: header + text)


def _crd_files() -> tuple[Generated, ...]:
    """One file for each API: its versions share a definition."""
    return tuple({file.path: file for file in map(crd_file, DIALECTS)}.values())


# Enough to see what changed; the whole is one command away.
DIFFERENCE_LINES = 20
GENERATED = (
    Generated("docs/scenarios.md", scenarios.page),
    *_crd_files(),
    Generated("charts/tfjob/templates/_rules.tpl", roles.page),
    Generated("docs/reference/flags.md", reference.flags),
    Generated("docs/reference/metrics.md", reference.metrics),
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
    """How each file that is not current differs, stored against generated; its beginning."""
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
    """Write the files; with --check only compare, 1 if any is stale."""
    if "--check" not in arguments:
        write(root, files)
        return 0
    found = stale(root, files)
    print("\n".join([*found, "run `make generate`"]) if found else "generated files: current")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], root=Path.cwd()))
