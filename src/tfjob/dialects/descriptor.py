"""Describes a dialect to the rest of the project.

Registration, flags, RBAC rules, chart values and CRDs are all derived from the descriptor in the
dialect's folder and are not repeated elsewhere.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from tfjob.dialects.base import ChildApi, Dialect
from tfjob.k8s.field import Fault

INFORMER_VERBS = ("get", "list", "watch")
"""The verbs of an informer."""
CHILD_VERBS = (*INFORMER_VERBS, "create", "patch", "delete")
"""The verbs on children that are created, adopted, patched and deleted."""


class FileReader(Protocol):
    def __call__(
        self, value: object, *, text_of: Callable[[str], str]
    ) -> tuple[object, Sequence[Fault]]:
        """Decode a parsed file and list its faults; `text_of` reads another file it refers to."""


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """The verbs that the operator needs on one kind of object to serve a dialect."""

    api: ChildApi
    verbs: tuple[str, ...]
    why: str
    option: str = ""
    """Needed only with this option of the descriptor; empty for always."""


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """A dialect-specific flag of the operator; its value is in `Settings.options`."""

    name: str
    """The name on the command line, without dashes."""
    choices: tuple[str, ...]
    """The allowed values; the first is the default."""
    help: str
    value: str
    """The path of the chart value that sets it, such as `operator.somethingElse`."""
    local: str
    """The value in local mode, which has no operator flags."""

    @property
    def is_switch(self) -> bool:
        """It is on or off; without a value on the command line it is on."""
        return set(self.choices) == {"true", "false"}


class FileFlag(msgspec.Struct, frozen=True, kw_only=True):
    """A flag that names a YAML file or its folder. The file is read once, at startup.

    If there is a file, the value that `read` returns for it is in `Settings.options`.
    """

    name: str
    alias: str
    """An older spelling, which is also accepted."""
    help: str
    file_names: tuple[str, ...]
    """File names to look for in a folder; the first that exists is read."""
    read: FileReader


class Descriptor(msgspec.Struct, frozen=True, kw_only=True):
    """One API group of jobs, with all its versions."""

    name: str
    """The name of the dialect's folder, and of its chart values."""
    scheme: str
    """Its value for `--enable-scheme`, in lower case."""
    dialects: tuple[Dialect, ...]
    """Its versions; the first is the storage version."""
    is_default: bool = False
    """An operator on a cluster serves it by default."""
    job_verbs: tuple[str, ...] = ()
    """Verbs on the jobs themselves, beyond those of an informer."""
    job_why: str
    suspend_path: tuple[str, ...] = ()
    """The field of a job that suspends it while it is true; empty if there is none."""
    access: Sequence[Access] = ()
    options: Mapping[str, str] = {}
    """Optional features, each with the chart's template condition that enables it."""
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
        """The name of the API in documents and in the chart."""
        return f"{self.group} {self.stored.kind}"

    @property
    def definition(self) -> dict[str, Any]:
        return self.stored.crd()
