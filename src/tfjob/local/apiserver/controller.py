"""A controller: attends to the objects of one kind whenever they or their children change.

Law: that of every worker. An object may ask to be looked at later; what for is not known here.
"""

from datetime import datetime
from typing import ClassVar

from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.store import Change, Key
from tfjob.local.apiserver.worker import Worker


class Controller(Worker):
    """Attends to the objects of one resource, whenever they or what they own change."""

    resource: ClassVar[str]
    kind: ClassVar[str]
    child_resource: ClassVar[str] = "pods"

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._later: dict[Key, datetime] = {}

    def notice(self, change: Change) -> None:
        if change.key.resource == self.resource:
            self.enqueue(change.key)
        elif change.key.resource == self.child_resource:
            for ref in change.object["metadata"].get("ownerReferences") or ():
                if ref.get("kind") == self.kind and ref.get("controller"):
                    name = str(ref.get("name", ""))
                    self.enqueue(Key(self.resource, change.key.namespace, name))

    def look_everywhere(self) -> None:
        for row in self.backend.store.page(self.resource):
            self.enqueue(Key(self.resource, row.namespace, row.name))

    def wake_at(self, key: Key, moment: datetime) -> None:
        """Attend to an object again at a moment, even if nothing changes until then."""
        self._later[key] = min(moment, self._later.get(key, moment))

    def catch_up(self) -> None:
        """Put everything in line whose moment has come."""
        now = self.backend.clock()
        for key in [key for key, moment in self._later.items() if moment <= now]:
            del self._later[key]
            self.enqueue(key)

    def seconds_to_rest(self) -> float | None:
        if not self._later:
            return None
        return max((min(self._later.values()) - self.backend.clock()).total_seconds(), 0.0)
