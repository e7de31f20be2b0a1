"""What the agent knows of a pod it runs: values that are stored, compared and shown.

Its law: a record is never changed, only replaced, and everything a restarted agent needs is in it.
It must not know how the facts were learnt.
"""

import msgspec


class Waiting(msgspec.Struct, frozen=True, tag="waiting"):
    """Not running, and why."""

    reason: str
    message: str = ""


class Running(msgspec.Struct, frozen=True, tag="running"):
    """Running since then."""

    started_at: str


class Terminated(msgspec.Struct, frozen=True, kw_only=True, tag="terminated"):
    """Ended, and how."""

    exit_code: int
    reason: str
    message: str = ""
    started_at: str = ""
    finished_at: str = ""
    container_id: str = ""


State = Waiting | Running | Terminated


class ContainerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One container through all its restarts; `pid` and `start_time` name its watching process."""

    name: str
    state: State = Waiting("PodInitializing")
    last: Terminated | None = None
    restarts: int = 0
    crashes: int = 0
    retry_at: float = 0.0
    pid: int = 0
    start_time: str = ""

    @property
    def instance(self) -> int:
        """The number of the present run, which is also that of its log."""
        return self.restarts


class Verdict(msgspec.Struct, frozen=True):
    """The pod ended as a whole, whatever its containers did."""

    reason: str
    message: str


class PodRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One pod on this node."""

    namespace: str
    name: str
    uid: str
    started_at: str
    init: tuple[ContainerRecord, ...] = ()
    containers: tuple[ContainerRecord, ...] = ()
    gpus: tuple[str, ...] = ()
    verdict: Verdict | None = None

    @property
    def all_containers(self) -> tuple[ContainerRecord, ...]:
        return self.init + self.containers

    def container(self, name: str) -> ContainerRecord:
        return next(found for found in self.all_containers if found.name == name)

    def with_container(self, changed: ContainerRecord) -> "PodRecord":
        """The same pod with one container's record replaced."""

        def swapped(group: tuple[ContainerRecord, ...]) -> tuple[ContainerRecord, ...]:
            return tuple(changed if old.name == changed.name else old for old in group)

        init, containers = swapped(self.init), swapped(self.containers)
        return msgspec.structs.replace(self, init=init, containers=containers)
