"""Writes objects as YAML that all parsers read alike: no aliases, and ambiguous strings quoted."""

import re
from collections.abc import Mapping
from typing import Any

import yaml


class _Dumper(yaml.CSafeDumper):
    """Writes shared values in full instead of aliases."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - overrides
        return True


# Quote strings that other YAML parsers read as numbers or booleans.
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
