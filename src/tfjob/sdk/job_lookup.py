"""Finds jobs by name, in all APIs or in the one that the caller or a prefix of the name chooses.

`tfjob get -o name` prints names with a prefix, such as `tfjobs.kubeflow.org/mnist`.
"""

import difflib

import msgspec

from tfjob.client.errors import ApiError, Forbidden, NotFound
from tfjob.dialects.base import Dialect
from tfjob.dialects.registry import DIALECTS
from tfjob.k8s.nesting import UNREADABLE, plain
from tfjob.sdk import jobs
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.jobs import ClusterJob


class _Items(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


class Listing(msgspec.Struct):
    """The jobs of all APIs, and the errors of the APIs that may not be listed."""

    found: list[ClusterJob]
    refusals: list[Forbidden]


async def find(cluster: Cluster, wanted: str, *, api: str | None = None) -> ClusterJob:
    """The job of this name; TFJobError if there is none, or if several APIs have one."""
    prefix, _, name = wanted.rpartition("/")
    found, refusals = [], []
    for dialect in chosen(prefix or api):
        try:
            found.append(await get(cluster, dialect, name))
        except NotFound:
            continue
        except Forbidden as error:
            refusals.append(error)
    if not found and refusals:
        raise refusals[0]
    if not found:
        raise await _not_found(cluster, name, prefix or api)
    if len(found) > 1:
        shown = " or ".join(full_name(each) for each in found)
        raise TFJobError(f"{name!r} is ambiguous: use {shown}, or choose with --api")
    return found[0]


async def _not_found(cluster: Cluster, name: str, api: str | None) -> TFJobError:
    """The error, with the job of the namespace whose name is most similar."""
    inside = Cluster(api=cluster.api, namespace=cluster.one_namespace)
    try:
        known = [each.name for each in (await find_all(inside, api=api)).found]
    except (ApiError, TFJobError):
        known = []
    close = difflib.get_close_matches(name, known, n=1)
    remedy = f"did you mean {close[0]!r}?" if close else "`tfjob get -A` lists all jobs"
    return TFJobError(f"no job {name!r} in namespace {inside.namespace!r}", remedy=remedy)


async def find_all(cluster: Cluster, *, api: str | None = None, labels: str = "") -> Listing:
    """All jobs that match a label selector, sorted by namespace and name.

    An API that is not installed has none.
    """
    params = {"labelSelector": labels} if labels else None
    listing = Listing([], [])
    has_answer = False
    for dialect in chosen(api):
        path = jobs.resource_of(dialect).collection(cluster.namespace)
        try:
            answer = await cluster.api.list_page(path, decode=_Items, params=params)
        except NotFound:
            continue
        except Forbidden as error:
            listing.refusals.append(error)
            continue
        has_answer = True
        listing.found.extend(_read(dialect, each) for each in answer.items or ())
    if listing.refusals and not has_answer:
        raise listing.refusals[0]
    listing.found.sort(key=lambda each: (each.namespace, each.name))
    return listing


async def refreshed(cluster: Cluster, found: ClusterJob) -> ClusterJob:
    """The current state of the same job, never of a later one of the same name."""
    try:
        answer = await cluster.api.get(found.path, decode=msgspec.Raw)
    except NotFound as error:
        raise TFJobError(f"{full_name(found)} was deleted") from error
    current = _read(found.dialect, answer)
    if current.job.owner.uid != found.job.owner.uid:
        raise replaced(found)
    return current


def replaced(found: ClusterJob) -> TFJobError:
    """The error of a job whose name now belongs to another one."""
    return TFJobError(
        f"{full_name(found)} was deleted, and another job was created under its name",
        remedy="run the command again for the new job",
    )


def full_name(found: ClusterJob) -> str:
    return f"{found.dialect.plural}.{found.dialect.group}/{found.name}"


async def get(cluster: Cluster, dialect: Dialect, name: str) -> ClusterJob:
    """The job of a dialect and name; NotFound if there is none."""
    path = jobs.resource_of(dialect).item(name, cluster.one_namespace)
    answer = await cluster.api.get(path, decode=msgspec.Raw)
    return _read(dialect, answer)


def _read(dialect: Dialect, answer: msgspec.Raw) -> ClusterJob:
    try:
        manifest = plain(bytes(answer))
    except UNREADABLE as error:
        raise TFJobError(f"a job among the {dialect.plural} cannot be read: {error}") from error
    if not isinstance(manifest, dict):
        raise TFJobError(f"a job among the {dialect.plural} cannot be read: it is not an object")
    return ClusterJob.of(dialect, manifest)


def chosen(api: str | None) -> list[Dialect]:
    """The stored dialects of an API; all of them if none is named."""
    stored = jobs.stored_dialects()
    if not api:
        return stored
    meant = {(each.group, each.plural) for each in DIALECTS if api.lower() in _spellings(each)}
    found = [each for each in stored if (each.group, each.plural) in meant]
    if not found:
        known = ", ".join(f"{each.plural}.{each.group}" for each in stored)
        raise TFJobError(f"unknown API {api!r}; choose one of {known}")
    return found


def _spellings(dialect: Dialect) -> set[str]:
    """The spellings accepted for an API: its group, version, kind, plural and short name."""
    kinds = (dialect.kind.lower(), dialect.plural, dialect.short_name)
    full = {f"{kind}.{dialect.group}" for kind in kinds}
    return {dialect.group, f"{dialect.group}/{dialect.version}", *kinds, *full}
