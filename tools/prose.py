"""Checks the links and `make` targets in the project's Markdown files.

A relative link must lead to a file, and a `make` target must exist in the Makefile.
"""

import re
import sys
from collections.abc import Iterator, Set
from pathlib import Path

from tools.words import files_of

LINK = re.compile(r"\]\((?!\w+:|#)([^)\s#]+)")
VERB = re.compile(r"(?:^|`)make ([a-z][a-z0-9-]*)", re.MULTILINE)
TARGET = re.compile(r"^([a-z][a-z0-9-]*):", re.MULTILINE)


def faults_in(page: Path, *, root: Path, verbs: Set[str]) -> Iterator[str]:
    """The broken links and unknown `make` targets of a page."""
    name, text = page.relative_to(root).as_posix(), page.read_text("utf-8")
    for target in LINK.findall(text):
        if not (page.parent / target).exists():
            yield f"{name}: the link to {target} leads nowhere"
    for verb in VERB.findall(text):
        if verb not in verbs:
            yield f"{name}: there is no `make {verb}`; see `make help`"


def main(root: Path) -> int:
    """Print the faults; return 1 if there are any."""
    verbs = frozenset(TARGET.findall((root / "Makefile").read_text("utf-8")))
    pages = [root / name for name in files_of(root) if name.endswith(".md")]
    found = [fault for page in pages for fault in faults_in(page, root=root, verbs=verbs)]
    print("\n".join(found) or "prose: every link and verb leads somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path.cwd()))
