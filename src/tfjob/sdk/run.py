"""`run` starts a job from a function, a script or a module, on this machine or on a cluster."""

import atexit
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tfjob.sdk.client import LOCAL, Client, connect
from tfjob.sdk.code_place import code_place
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.job import TFJob
from tfjob.sdk.job_manifest import REPLICA_OF, Wanted, objects_for
from tfjob.sdk.launcher import LOADING
from tfjob.sdk.local_process import local_process
from tfjob.sdk.program import Arguments, Train, program_for

_LOCAL_CLIENTS: Final[dict[Path, Client]] = {}


def run(  # noqa: PLR0913 - one argument for each thing that a person chooses
    train: Train,
    *,
    workers: int = 1,
    ps: int = 0,
    chief: bool = False,
    evaluator: bool = False,
    gpus: int = 0,
    resources: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    args: Arguments = (),
    code: str | Path | None = ".",
    where: str | Client = LOCAL,
    image: str | None = None,
    checkpoints: str | Path | None = None,
    restarts: int = 0,
    name: str | None = None,
    namespace: str | None = None,
) -> TFJob:
    """Start a job and return it; it runs in the background.

    Every replica runs `train`, which is a function, the path of a script or the name of a module.
    `args` are the command-line arguments of a script or module; for a function, a list of
    positional or a dict of keyword arguments. The chief and each worker get `gpus`, and every
    replica gets `resources`. `code` is the folder in which the program runs. `where` is `local`, a
    context of the kubeconfig or a client; a cluster needs an `image`. `restarts` is how often
    killed replicas are restarted, over all replicas.
    """
    _refuse_inside_a_replica()
    client = where if isinstance(where, Client) else None
    is_local = client.is_local if client is not None else where == LOCAL
    if is_local:
        _refuse_a_job_in_a_job(train)
    if not is_local and not image:
        raise TFJobError(
            f"a cluster needs an image, and none is named for {_title(train)}",
            remedy="set image=…, such as image='tensorflow/tensorflow:2.21.0'",
        )
    place = code_place(code, is_local=is_local)
    wanted = Wanted(
        name=name,
        namespace=namespace,
        replicas={"Chief": int(chief), "PS": ps, "Worker": workers, "Evaluator": int(evaluator)},
        gpus=gpus,
        resources=resources or {},
        env=env or {},
        image=image or "python:{}.{}".format(*sys.version_info),
        checkpoints=checkpoints,
        restarts=restarts,
    )
    job = TFJob(objects_for(wanted, program_for(train, args, place), place))
    if client is None:
        client = _local_client() if is_local else connect(str(where))
    client.submit(job)
    if is_local:
        atexit.register(_warn_if_unfinished, job, os.getpid())
    return job


def _local_client() -> Client:
    """One client for all jobs of this process on this machine."""
    path = local_process().kubeconfig
    if path not in _LOCAL_CLIENTS:
        _LOCAL_CLIENTS[path] = connect(LOCAL)
    return _LOCAL_CLIENTS[path]


def _warn_if_unfinished(job: TFJob, owner: int) -> None:
    """Warn if the program ends before its job, so that it does not look like a finished one."""
    if os.getpid() != owner:
        return  # a forked child; the job goes on
    try:
        is_finished = job.status.is_finished
    except TFJobError:
        return  # it was deleted
    if not is_finished:
        sys.stderr.write(
            f"tfjob: {job.name} has not finished, and ends with this program;"
            " job.wait() waits for it\n"
        )


def _title(train: Train) -> str:
    return str(getattr(train, "__qualname__", train))


def _refuse_a_job_in_a_job(train: Train) -> None:
    """Refuse a script that runs itself: it would start jobs without end."""
    job = os.environ.get(REPLICA_OF)
    if job:
        raise TFJobError(
            f"run() of {_title(train)} was called in a replica of {job}, so every replica would"
            " start jobs of its own on this machine",
            remedy="pass run() a function or another script, which does not call run() itself",
        )


def _refuse_inside_a_replica() -> None:
    loading = os.environ.get(LOADING)
    if loading:
        raise TFJobError(
            f"run() was called while a replica loads {loading}, so every replica would start a job",
            remedy='put the call under `if __name__ == "__main__":`',
        )
