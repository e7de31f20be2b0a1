"""Tells a training program about itself: its role, its peers, and the checkpoint to resume from.

Everything comes from the environment of the replica. This file imports only the standard library,
neither TensorFlow nor other parts of tfjob, so that it works wherever it is copied.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

CHECKPOINTS = "TFJOB_CHECKPOINTS"
"""The variable that names the folder for checkpoints."""
_CHIEFS = ("chief", "master")
_LATEST = re.compile(r'^model_checkpoint_path:\s*"((?:[^"\\]|\\.)*)"\s*$', re.MULTILINE)


@dataclass(frozen=True)
class Context:
    """This replica and the cluster that it is part of."""

    role: str = "worker"
    """The task type: `chief`, `worker`, `ps`, `evaluator`; `worker` outside of a job."""
    index: int = 0
    cluster: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The addresses of all replicas by role, as in TF_CONFIG; empty outside of a job."""
    checkpoints: Path | None = None
    """The folder for checkpoints, the same for all replicas; None if the job has none."""

    @property
    def is_chief(self) -> bool:
        """Whether this replica saves the model: the chief, or worker 0 of a job without one."""
        if any(self.cluster.get(role) for role in _CHIEFS):
            return self.role in _CHIEFS
        return self.role == "worker" and self.index == 0

    @property
    def workers(self) -> int:
        """How many replicas compute gradients: the workers, and a chief among them."""
        counted = sum(len(self.cluster.get(role, ())) for role in ("worker", *_CHIEFS))
        return max(counted, 1)

    @property
    def address(self) -> str:
        """This replica's address, `host:port`; empty outside of a job."""
        addresses = self.cluster.get(self.role, ())
        return addresses[self.index] if self.index < len(addresses) else ""

    @property
    def port(self) -> int | None:
        """The port of this replica's address; None outside of a job."""
        _, _, port = self.address.rpartition(":")
        return int(port) if port.isdecimal() else None

    @property
    def resume_from(self) -> Path | None:
        """The newest checkpoint of `tf.train.CheckpointManager`; None on a first start.

        This is the prefix that `tf.train.Checkpoint.restore` takes.
        """
        if self.checkpoints is None:
            return None
        try:
            state = (self.checkpoints / "checkpoint").read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        found = _LATEST.search(state)
        if found is None:
            return None
        path = self.checkpoints / found[1].replace('\\"', '"').replace("\\\\", "\\")
        return path if path.with_name(f"{path.name}.index").exists() else None


def context(environ: Mapping[str, str] | None = None) -> Context:
    """Read the context from TF_CONFIG; outside of a job, the program is a single worker."""
    env = os.environ if environ is None else environ
    folder = env.get(CHECKPOINTS)
    checkpoints = Path(folder) if folder else None
    try:
        config = json.loads(env.get("TF_CONFIG") or "{}")
        task = config.get("task") or {"type": "worker", "index": 0}
        cluster = config.get("cluster") or {}
        return Context(
            role=str(task["type"]),
            index=int(task["index"]),
            cluster={str(role): _addresses(found) for role, found in cluster.items()},
            checkpoints=checkpoints,
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"TF_CONFIG must be JSON with a cluster and a task, as the operator writes it: {error}"
        ) from error


def _addresses(found: object) -> tuple[str, ...]:
    """A role's addresses: a list, or a map by index as in the sparse form of TF_CONFIG."""
    if isinstance(found, Mapping):
        found = [found[key] for key in sorted(found, key=int)]
    if not isinstance(found, list):
        raise TypeError(f"addresses must be a list, got {found!r}")
    return tuple(str(each) for each in found)
