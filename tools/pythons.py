"""Runs tests on other versions of Python: `python -m tools.pythons 3.12 3.13 -- tests/unit`.

A version is looked for on PATH as `python3.X`, then in pyenv. Each has its own environment,
`.venv-3.X`, with the locked requirements of requirements/test.txt. Versions that are not installed
are reported as SKIPPED.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements" / "test.txt"
STAMP = ".test"
"""A file with the digest of the lock file that an environment was created from."""


def found(version: str, environment: Mapping[str, str]) -> Path | None:
    """The interpreter of an installed version, if it works."""
    return next((each for each in _candidates(version, environment) if _starts(each)), None)


def _candidates(version: str, environment: Mapping[str, str]) -> Iterator[Path]:
    on_path = shutil.which(f"python{version}", path=environment.get("PATH", ""))
    if on_path:
        yield Path(on_path)
    home = environment.get("PYENV_ROOT") or f"{environment.get('HOME', '')}/.pyenv"
    releases = (Path(home) / "versions").glob(f"{version}.*/bin/python{version}")
    yield from sorted(releases, key=_release, reverse=True)


def _release(python: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", python.parent.parent.name)]


def _starts(python: Path) -> bool:
    """Whether the interpreter starts: pyenv has shims for versions that are not selected."""
    return subprocess.run([python, "--version"], capture_output=True, check=False).returncode == 0


def environment_of(version: str, python: Path) -> Path:
    """The interpreter of an environment with the locked requirements."""
    folder = ROOT / f".venv-{version}"
    inner, stamp = folder / "bin" / "python", folder / STAMP
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest and _starts(inner):
        return inner
    if not inner.exists() or not _starts(inner):
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    pip: list[str | Path] = [
        inner,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--quiet",
    ]
    subprocess.run([*pip, "--require-hashes", "-r", LOCK], check=True)
    stamp.write_text(digest)
    return inner


def run(version: str, arguments: Sequence[str]) -> bool:
    """Whether the tests pass on a version; also True if it is not installed."""
    python = found(version, os.environ)
    if python is None:
        print(f"python {version}: SKIPPED, not installed (PATH, pyenv)", flush=True)
        return True
    print(f"python {version}: {python}", flush=True)
    inner = environment_of(version, python)
    chosen = {"PYTHONPATH": str(ROOT / "src"), "HYPOTHESIS_PROFILE": "ci"}
    command: list[str | Path] = [inner, "-m", "pytest", *arguments]
    return subprocess.run(command, env=os.environ | chosen, check=False, cwd=ROOT).returncode == 0


def main(words: Sequence[str]) -> int:
    cut = words.index("--")
    failed = [version for version in words[:cut] if not run(version, words[cut + 1 :])]
    for version in failed:
        print(f"python {version}: FAILED", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
