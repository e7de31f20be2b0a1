"""A copy of the checkout in which the made-up API of jobs is a dialect like the others.

The copy is changed only as the guide on adding a dialect says: a folder, the registry, and
`make generate`. Files that `make generate` wrote are listed apart from those written by hand.
"""

import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = "src/tfjob/dialects/toy"
REGISTRY = "src/tfjob/dialects/registry.py"
_COPIED = ("src", "tools", "charts", "docs/reference", ".importlinter")
_GENERATE = """
from pathlib import Path
from tools import generate
of_tests = ("scenarios", "promises", "seeds", "seed-documents", "side-by-side")
pages = {{f"docs/{{each}}.md" for each in of_tests}}
files = [each for each in generate.GENERATED if each.path not in pages]
raise SystemExit(generate.main({arguments}, root=Path(), files=files))
"""


class FakeCheckout:
    """The copy; its own sources are what runs in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in _COPIED:
            _copy(ROOT / name, root / name)
        _write_folder(root / FOLDER)
        _register(root / REGISTRY)
        self.by_hand = self._changed()
        self.generate()

    @property
    def generated(self) -> set[str]:
        """What `make generate` has changed or added."""
        return self._changed() - self.by_hand

    def generate(self, *arguments: str) -> str:
        return self.run("-c", _GENERATE.format(arguments=list(arguments)))

    def tfjob(self, *words: str) -> str:
        return self.run("-m", "tfjob.cli.main", *words)

    def run(self, *words: str) -> str:
        """What Python prints there; it must succeed."""
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": f"{self.root / 'src'}{os.pathsep}{self.root}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def _changed(self) -> set[str]:
        found = set()
        for path in self.root.rglob("*"):
            name = path.relative_to(self.root).as_posix()
            if not path.is_file() or "__pycache__" in name or name.endswith(".pyc"):
                continue
            before = ROOT / name
            if not before.exists() or not filecmp.cmp(before, path, shallow=False):
                found.add(name)
        return found


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    else:
        shutil.copy(source, target)


def _write_folder(folder: Path) -> None:
    folder.mkdir()
    (folder / "__init__.py").write_text('"""The parts of toy.example ToyJobs."""\n')
    for source, target in (("fake_dialect.py", "v1.py"), ("fake_descriptor.py", "descriptor.py")):
        text = (ROOT / "tests" / "support" / source).read_text("utf-8")
        own = text.replace("tests.support.fake_dialect", "tfjob.dialects.toy.v1")
        (folder / target).write_text(own, "utf-8")


def _register(registry: Path) -> None:
    """An import, and a name in the tuple."""
    text = registry.read_text("utf-8")
    last = "from tfjob.dialects.tensorstack.descriptor import DESCRIPTOR as TENSORSTACK\n"
    imported = "from tfjob.dialects.toy.descriptor import DESCRIPTOR as TOY\n"
    text = text.replace(last, f"{last}{imported}").replace("TENSORSTACK)", "TENSORSTACK, TOY)")
    registry.write_text(text, "utf-8")
