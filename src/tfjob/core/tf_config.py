"""TF_CONFIG: the cluster description and task that each replica gets in its environment.

The cluster is the same for all replicas of a job and is rendered once; only the task differs. The
exact text is part of the API: compact JSON with keys in a fixed order.
"""

from collections.abc import Sequence
from functools import cached_property

import msgspec

from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job, ReplicaType, TFConfig
from tfjob.k8s import field

MAX_VALUE_BYTES = 128 * 1024 - len("TF_CONFIG=") - 1
"""Linux limits an environment string to 128 KiB, including name, `=` and the final NUL."""
_TOO_LARGE = (
    "TF_CONFIG lists every replica and would have {} bytes; Linux allows at most"
    f" {MAX_VALUE_BYTES} in an environment variable"
)
_REMEDY = "use fewer replicas, or shorter names for the job and its namespace"
_ALWAYS_FITS = 100
"""With this many replicas, TF_CONFIG always fits, whatever their names."""
_WORKER = "worker"
_SERVER = "ps"


class ClusterSpec:
    """Renders the TF_CONFIG of each replica of one job."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._form = job.tf_config

    def text(self, replica: ReplicaType, index: int) -> str | None:
        """The value for one replica, or None if the job needs no TF_CONFIG."""
        if not self._form.is_enabled:
            return None
        task = f'"task":{{"type":{_json(replica.task)},"index":{index}}}'
        if self._form.is_dynamic:
            return f'{{"cluster":{self._dynamic(replica, index)},{task}}}'
        return f"{self._head}{task}{self._tail}"

    @cached_property
    def _head(self) -> str:
        types = sorted(self._listed(), key=lambda replica: replica.task)
        cluster = ",".join(f"{_json(each.task)}:{_json(_addresses(each))}" for each in types)
        return f'{{"cluster":{{{cluster}}},'

    @cached_property
    def _tail(self) -> str:
        environment = self._form.environment
        return "}" if environment is None else f',"environment":{_json(environment)}}}'

    @cached_property
    def _servers(self) -> Sequence[str]:
        return [
            address
            for replica in self._job.replicas
            if replica.task == _SERVER
            for address in _addresses(replica)
        ]

    @cached_property
    def _servers_json(self) -> str:
        return _json(self._servers)

    def _listed(self) -> list[ReplicaType]:
        return [
            each
            for each in self._job.replicas
            if each.is_in_cluster and (each.count or self._form.lists_empty_types)
        ]

    def _dynamic(self, replica: ReplicaType, index: int) -> str:
        """A worker lists itself and all parameter servers; a server lists those up to itself."""
        workers, servers = "{}", "[]"
        if replica.task == _WORKER:
            workers = f'{{"{index}":{_json(replica.address(index))}}}'
            servers = self._servers_json
        elif replica.task == _SERVER:
            servers = _json(self._servers[: index + 1])
        return f'{{"worker":{workers},"ps":{servers}}}'


def checked(job: Job, *, path: str) -> Job | InvalidJob:
    """The job, or an InvalidJob if its TF_CONFIG is too large for an environment variable.

    `path` is the field of its replicas.
    """
    size = 0 if job.total <= _ALWAYS_FITS else max_size(job)
    if size <= MAX_VALUE_BYTES:
        return job
    return InvalidJob(
        owner=job.owner,
        messages=job.messages,
        faults=[field.invalid(path, job.total, _TOO_LARGE.format(size), remedy=_REMEDY)],
        status=job.status,
        is_external=job.is_external,
        is_deleting=job.is_deleting,
    )


def max_size(job: Job) -> int:
    """Size in bytes of the largest TF_CONFIG of a job, computed without rendering the addresses.

    The last replica of each type has the largest one.
    """
    empty = msgspec.structs.replace(
        job, replicas=[msgspec.structs.replace(each, count=0) for each in job.replicas]
    )
    form = job.tf_config
    cluster = ClusterSpec(empty)
    sizes = [0]
    for replica in job.replicas:
        text = cluster.text(replica, replica.count - 1) if replica.count else None
        if text is None:
            continue
        listed = [each for each in job.replicas if each.count and _is_listed(each, replica, form)]
        # The rendered text already has the names of types, unless empty types are left out.
        names = 0 if form.is_dynamic or form.lists_empty_types else _names_size(listed)
        sizes.append(len(text.encode()) + names + sum(map(_addresses_size, listed)))
    return max(sizes)


def _is_listed(each: ReplicaType, reader: ReplicaType, form: TFConfig) -> bool:
    """Whether the TF_CONFIG of `reader` lists all addresses of a type."""
    if form.is_dynamic:
        return each.task == _SERVER and reader.task in {_SERVER, _WORKER}
    return each.is_in_cluster


def _names_size(listed: Sequence[ReplicaType]) -> int:
    """Bytes of `"name":[]` for each type, with commas in between."""
    return sum(len(_json(each.task)) + 4 for each in listed) - bool(listed)


def _addresses_size(replica: ReplicaType) -> int:
    """Bytes of the quoted addresses of one type, with commas in between."""
    around = len(_json(replica.address(0)).encode()) - 1
    return replica.count * (around + 1) - 1 + _digits(replica.count)


def _digits(count: int) -> int:
    """Total number of digits of the numbers 0 to count - 1."""
    total, first = count, 10
    while first < count:
        total += count - first
        first *= 10
    return total


def _addresses(replica: ReplicaType) -> list[str]:
    return [replica.address(index) for index in range(replica.count)]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
