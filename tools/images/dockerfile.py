"""Reads the part of the Dockerfile language that the project's images use.

FROM, ARG before the first FROM, ENV, WORKDIR, COPY, RUN, USER, EXPOSE, ENTRYPOINT and CMD. Anything
else is an error: an image that silently lacks an instruction would be a different image.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_KNOWN = ("ENV", "WORKDIR", "COPY", "RUN", "USER", "EXPOSE", "ENTRYPOINT", "CMD")
_VARIABLE = re.compile(r"\$\{(\w+)\}")


class DockerfileError(Exception):
    """The file uses something that this reader does not know; names the line."""


@dataclass(frozen=True)
class Instruction:
    """One instruction after FROM, such as `COPY src src`."""

    name: str
    text: str

    def words(self) -> list[str]:
        """The arguments, of the JSON form or separated by spaces."""
        if self.text.startswith("["):
            return [str(word) for word in json.loads(self.text)]
        return self.text.split()


@dataclass
class Stage:
    """What stands between one FROM and the next."""

    base: str
    name: str
    instructions: list[Instruction] = field(default_factory=list)


def parse(text: str, arguments: Mapping[str, str] | None = None) -> list[Stage]:
    """The stages in the order of the file; `arguments` replace the defaults of ARG."""
    known: dict[str, str] = {}
    stages: list[Stage] = []
    for line in _logical_lines(text):
        name, _, rest = line.partition(" ")
        rest = rest.strip()
        if name == "ARG" and not stages:
            key, _, value = rest.partition("=")
            known[key] = (arguments or {}).get(key, value)
        elif name == "FROM":
            stages.append(_stage(expand(rest, known), len(stages)))
        elif name in _KNOWN and stages:
            stages[-1].instructions.append(Instruction(name, rest))
        else:
            raise DockerfileError(f"{line}: not understood; known are FROM and {', '.join(_KNOWN)}")
    return stages


def expand(text: str, variables: Mapping[str, str]) -> str:
    """The text with the values of its ${VARIABLES}; an unknown one is empty, as in a shell."""
    return _VARIABLE.sub(lambda found: variables.get(found[1], ""), text)


def _stage(rest: str, number: int) -> Stage:
    words = rest.split()
    if len(words) == 3 and words[1].upper() == "AS":
        return Stage(words[0], words[2])
    if len(words) == 1:
        return Stage(words[0], str(number))
    raise DockerfileError(f"FROM {rest}: expected `FROM image` or `FROM image AS name`")


def _logical_lines(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", "")
    return [line.strip() for line in joined.splitlines() if line.strip()]
