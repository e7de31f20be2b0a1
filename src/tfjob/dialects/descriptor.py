"""All that the rest of the project knows of a dialect, said once in the dialect's own folder.

Registration, flags, permissions, the chart's values, roles and definitions, and the names under
which users find the jobs: each is read off a descriptor, and none is written down elsewhere.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from tfjob.dialects.base import ChildApi, Dialect
from tfjob.k8s.field import Fault

INFORMER_VERBS = ("get", "list", "watch")
"""The verbs of an informer."""
CHILD_VERBS = (*INFORMER_VERBS, "create", "patch", "delete")
"""The verbs on children that are adopted, changed and deleted."""


class FileReader(Protocol):
    def __call__(
        self, value: object, *, text_of: Callable[[str], str]
    ) -> tuple[object, Sequence[Fault]]:
        """What a parsed file means, and its faults; `text_of` reads another file it names."""


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """The verbs that serving a dialect needs on one kind of object."""

    api: ChildApi
    verbs: tuple[str, ...]
    why: str
    option: str = ""
    """Needed with this option of the descriptor alone; empty for always."""


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """A flag of the operator that concerns one dialect; its value is in `Settings.options`."""

    name: str
    """As the command line spells it, without dashes."""
    choices: tuple[str, ...]
    """The values it takes; the first is the default."""
    help: str
    value: str
    """The path of the chart's value that sets it, such as `operator.somethingElse`."""
    local: str
    """What it is on one machine, where no operator's flags are given."""


class FileFlag(msgspec.Struct, frozen=True, kw_only=True):
    """A flag that names a YAML file, or a folder that may hold it; read once, at the start.

    A dialect finds in `Settings.options` what its reader made of the file, if there is one.
    """

    name: str
    alias: str
    """An older spelling, which is taken too."""
    help: str
    file_names: tuple[str, ...]
    """What the file is called in a folder; the first that is there counts."""
    read: FileReader


class Descriptor(msgspec.Struct, frozen=True, kw_only=True):
    """One API group of jobs, with all its versions."""

    name: str
    """The dialect's folder, and its name among the chart's values."""
    scheme: str
    """What `--enable-scheme` calls it, in lower case."""
    dialects: tuple[Dialect, ...]
    """Its versions; jobs are stored as the first."""
    is_default: bool = False
    """An operator on a cluster serves it without being told to."""
    job_verbs: tuple[str, ...] = ()
    """Verbs on the jobs themselves, beyond those of an informer."""
    job_why: str
    access: Sequence[Access] = ()
    options: Mapping[str, str] = {}
    """What the operator can be set to do, with the chart's condition under which it is."""
    flags: Sequence[Flag] = ()
    file_flags: Sequence[FileFlag] = ()

    @property
    def stored(self) -> Dialect:
        return self.dialects[0]

    @property
    def group(self) -> str:
        return self.stored.group

    @property
    def title(self) -> str:
        """How documents and the chart call the API."""
        return f"{self.group} {self.stored.kind}"

    @property
    def definition(self) -> dict[str, Any]:
        return self.stored.crd()
