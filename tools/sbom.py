"""Writes the bill of materials of the operator: `python -m tools.sbom requirements/runtime.txt`.

CycloneDX 1.6 as JSON, on standard output. It is a pure function of the lock and the version: no
clock, no randomness and no network, so that two runs can be compared byte by byte. The hashes of
the files stay in the lock file, against which each installation is checked.
"""

import json
import re
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from tfjob import __version__

_PINNED: Final = re.compile(
    r"^(?P<name>[A-Za-z0-9][\w.-]*)==(?P<version>[^\s;\\]+)\s*(?:;\s*(?P<marker>[^\\]+?))?\s*\\?$"
)
_IGNORED: Final = re.compile(r"^\s*(?:#.*|--hash=\S+\s*\\?)?$")


class Package(NamedTuple):
    """A package of a lock file."""

    name: str
    version: str
    marker: str

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{re.sub(r'[-_.]+', '-', self.name).lower()}@{self.version}"


class LockError(ValueError):
    """A line of a lock file is invalid."""


def packages_of(text: str) -> Iterator[Package]:
    """The packages of a lock file, in order. Raises LockError."""
    for number, line in enumerate(text.splitlines(), 1):
        found = _PINNED.match(line)
        if found is not None:
            yield Package(found["name"], found["version"], found["marker"] or "")
        elif not _IGNORED.match(line):
            raise LockError(f"line {number}: expected NAME==VERSION with hashes, got {line!r}")


def bill_of(text: str, *, version: str = __version__) -> dict[str, Any]:
    """The bill of materials of tfjob with the packages of a lock file."""
    components = [_component(each) for each in sorted(packages_of(text))]
    root = {
        "type": "application",
        "name": "tfjob",
        "version": version,
        "purl": f"pkg:pypi/tfjob@{version}",
        "bom-ref": f"pkg:pypi/tfjob@{version}",
    }
    content = json.dumps([root, components], sort_keys=True)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {"component": root},
        "components": components,
    }


def _component(package: Package) -> Mapping[str, Any]:
    marker = [{"name": "python:marker", "value": package.marker}] if package.marker else []
    return {
        "type": "library",
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
        "bom-ref": package.purl,
        **({"properties": marker} if marker else {}),
    }


def main(arguments: list[str]) -> int:
    """Print the bill of materials; return 1 if the lock file cannot be read."""
    [path] = arguments
    try:
        bill = bill_of(Path(path).read_text("utf-8"))
    except (OSError, LockError) as error:
        sys.stderr.write(f"sbom: {path}: {error}\n")
        return 1
    sys.stdout.write(json.dumps(bill, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
