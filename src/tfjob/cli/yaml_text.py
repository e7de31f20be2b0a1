"""Objects as YAML that every reader takes for the same: nothing shared, nothing to be guessed."""

import re
from collections.abc import Mapping
from typing import Any

import yaml


class _Dumper(yaml.CSafeDumper):
    """Writes shared parts out in full: what is shown is what would be sent."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the base class decides by it
        return True


# Text that other readers of YAML take for a number or a truth is put in quotes.
_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[.0-9]+[eE][-+]?[0-9]+$"), list("-+.0123456789")
)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"[-+]?0o[0-7_]+$"), list("-+0"))
_Dumper.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"[yYnN]$"), list("yYnN"))


def as_yaml(manifest: Mapping[str, Any]) -> str:
    text: str = yaml.dump(
        manifest, Dumper=_Dumper, sort_keys=False, width=2**20, allow_unicode=True
    )
    return text
