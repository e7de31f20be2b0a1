"""The jobs of a chaos run: what each is, how its containers exit, and how it must end.

A kind says which exit code each life of a pod has. From these the end of a job and the number of
lives follow, whatever fails meanwhile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tests.support.tfjobs import tfjob

Json = dict[str, Any]


class End(Enum):
    """How a job ends."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    GONE = "gone"


class Change(Enum):
    """What its user does to a job while it runs."""

    NONE = "nothing"
    DELETE = "delete it"
    SUSPEND = "suspend it and resume it later"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of job; `exits` maps a replica type to the exit code of each life of its pods.

    A type without exit codes runs until it is deleted.
    """

    name: str
    roles: str
    end: End
    exits: Mapping[str, Sequence[int]]
    restart: str = "ExitCode"
    run_policy: Mapping[str, Any] = field(default_factory=dict)
    change: Change = Change.NONE
    success_policy: str = ""
    """Without it worker 0 alone decides, and the job may end before the other workers do."""

    def document(self, name: str) -> Json:
        return tfjob(
            self.roles,
            name=name,
            restart=self.restart,
            run_policy=self.run_policy,
            successPolicy=self.success_policy,
        )

    def exit_code(self, replica_type: str, ended: int) -> int | None:
        """The exit code of a pod after so many ended lives; None if it runs for ever."""
        codes = self.exits.get(replica_type)
        return None if codes is None else codes[min(ended, len(codes) - 1)]

    def demands(self, pod_type: str, lives: Sequence[int | None]) -> str:
        """What is wrong with the lives of one pod, given by their exit codes; empty if nothing.

        None stands for a life that a deletion ended. A resumed job starts whole: it runs again
        what had succeeded before the suspension, so one suspension allows one more life.
        """
        if self.change is not Change.NONE:
            most = 2 if self.change is Change.SUSPEND else 1
            return "" if len(lives) <= most else f"at most {most} lives expected: {list(lives)}"
        wanted = self.exits.get(pod_type)
        if wanted is None:
            return "" if len(lives) == 1 else f"one life expected, not {len(lives)}"
        if list(lives) != list(wanted):
            return f"lives {list(wanted)} expected, not {list(lives)}"
        return ""


KINDS = (
    Kind(name="once", roles="W2", end=End.SUCCEEDED, exits={"worker": [0]}),
    Kind(
        name="again",
        roles="W2",
        end=End.SUCCEEDED,
        exits={"worker": [137, 0]},
        success_policy="AllWorkers",
    ),
    Kind(name="never", roles="W1", end=End.FAILED, exits={"worker": [1]}, restart="Never"),
    Kind(name="permanent", roles="W1", end=End.FAILED, exits={"worker": [1]}),
    Kind(
        name="limit",
        roles="W1",
        end=End.FAILED,
        exits={"worker": [137, 137, 137]},
        run_policy={"backoffLimit": 2},
    ),
    Kind(
        name="servers",
        roles="C1 P1",
        end=End.SUCCEEDED,
        exits={"chief": [143, 0]},
        run_policy={"cleanPodPolicy": "Running"},
    ),
    Kind(name="deleted", roles="W2", end=End.GONE, exits={"worker": [0]}, change=Change.DELETE),
    Kind(
        name="suspended",
        roles="W2",
        end=End.SUCCEEDED,
        exits={"worker": [0]},
        change=Change.SUSPEND,
    ),
    Kind(
        name="expires",
        roles="W1",
        end=End.GONE,
        exits={"worker": [137, 0]},
        run_policy={"ttlSecondsAfterFinished": 1},
    ),
)
