"""`run` starts a job from a function, a script or a module, on this machine or on a cluster."""

import atexit
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tfjob.sdk.client import LOCAL, Client, connect
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.job import TFJob
from tfjob.sdk.launcher import LOADING, REPLICA_OF
from tfjob.sdk.local_process import FIT, SHARE_GPUS, local_process

if TYPE_CHECKING:
    from tfjob.sdk.program import Arguments, Train

_LOCAL_CLIENTS: Final[dict[Path, Client]] = {}


def run(  # noqa: PLR0913 - one argument for each thing that a person chooses
    train: "Train",
    *,
    workers: int = 1,
    ps: int = 0,
    chief: bool = False,
    evaluator: bool = False,
    gpus: int = 0,
    resources: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    args: "Arguments" = (),
    code: str | Path | None = ".",
    where: str | Client = LOCAL,
    image: str | None = None,
    checkpoints: str | Path | None = None,
    restarts: int = 0,
    fit: bool = False,
    share_gpus: bool = False,
    name: str | None = None,
    namespace: str | None = None,
) -> TFJob:
    """Start a job and return it; it runs in the background.

    `train` is a function, the path of a script or the name of a module, and every replica runs it.
    `args` are the words of a script or module; a function gets a list as positional and a dict as
    keyword arguments. `gpus` are for the chief and each worker, `resources` for every replica.
    `code` is the folder in which the program runs. `where` is `local`, a context of the kubeconfig
    or a client; a cluster needs an `image`. With `restarts`, replicas that are killed start again,
    that many times in all. On this machine, `fit` ignores requests that it cannot meet, and
    `share_gpus` lets replicas share its GPUs; both hold for all jobs of this program.
    """
    # Slow to import, and only needed by programs that start a job.
    from tfjob.sdk.code_place import code_place  # noqa: PLC0415
    from tfjob.sdk.job_manifest import Wanted, objects_for  # noqa: PLC0415
    from tfjob.sdk.program import program_for  # noqa: PLC0415

    _refuse_inside_a_replica()
    _check_counts(chief=chief, workers=workers, ps=ps, gpus=gpus, restarts=restarts)
    client = where if isinstance(where, Client) else None
    is_local = client.is_local if client is not None else where == LOCAL
    options = _options(fit=fit, share_gpus=share_gpus)
    if is_local:
        _refuse_a_job_in_a_job(train)
    else:
        _refuse_on_a_cluster(train, image=image, options=options)
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
        client = _local_client(options) if is_local else connect(str(where))
    else:
        client.check_cluster(options)
    client.submit(job)
    if is_local:
        atexit.register(_warn_if_unfinished, job, os.getpid())
    return job


def _check_counts(*, chief: bool, **counts: object) -> None:
    """Refuse numbers of which no job can be made, under the names of their arguments."""
    faults = [
        f"{name}={count!r}: must be an int of 0 or more"
        for name, count in counts.items()
        if not isinstance(count, int) or isinstance(count, bool) or count < 0
    ]
    if faults:
        raise TFJobError("; ".join(faults))
    if not counts["workers"] and not chief:
        raise TFJobError(
            "workers=0: a job without a chief needs at least one worker",
            remedy="pass workers=1 or more, or chief=True",
        )


def _options(*, fit: bool, share_gpus: bool) -> frozenset[str]:
    given = {FIT: fit, SHARE_GPUS: share_gpus}
    return frozenset(name for name, is_given in given.items() if is_given)


def _local_client(options: frozenset[str]) -> Client:
    """One client for all jobs of this process on this machine."""
    path = local_process(options).kubeconfig
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


def _title(train: "Train") -> str:
    return str(getattr(train, "__qualname__", train))


def _refuse_on_a_cluster(train: "Train", *, image: str | None, options: frozenset[str]) -> None:
    if options:
        given = " and ".join(f"{each}=True" for each in sorted(options))
        raise TFJobError(
            f"{given}: {_title(train)} runs on a cluster, whose scheduler counts requests",
            remedy="omit it, or use where='local'",
        )
    if not image:
        raise TFJobError(
            f"a cluster needs an image, and none is named for {_title(train)}",
            remedy="set image=…, such as image='tensorflow/tensorflow:2.21.0'",
        )


def _refuse_a_job_in_a_job(train: "Train") -> None:
    """A script that runs itself would start jobs without end."""
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
