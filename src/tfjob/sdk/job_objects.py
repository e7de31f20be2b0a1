"""The objects of a job, one of them the job itself: from YAML, to YAML, and from a cluster."""

from collections.abc import Mapping, Sequence
from typing import Any

from tfjob.sdk import documents
from tfjob.sdk.documents import DocumentError, as_yaml
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.exported_objects import for_new_cluster
from tfjob.sdk.job_documents import check_all, fault_report
from tfjob.sdk.submission import is_job

Objects = list[dict[str, Any]]


def parsed(text: str, shown: str) -> Objects:
    """The objects of a text with one valid job. `shown` names it; empty if nobody has seen it."""
    try:
        read = documents.parse(text, shown)
    except DocumentError as error:
        raise TFJobError(str(error)) from error
    checked = check_all(read)
    if faults := fault_report(checked):
        raise TFJobError("\n".join(faults))
    if len(checked) != 1:
        what = f"{shown}: contains" if shown else "the objects contain"
        raise TFJobError(f"{what} {len(checked)} jobs", remedy="exactly one is needed")
    return [each.value for each in read]


def checked(objects: Sequence[Mapping[str, Any]]) -> Objects:
    """The same objects, if there is one valid job among them."""
    return parsed("".join(f"---\n{as_yaml(each)}" for each in objects), shown="")


def rendered(objects: Sequence[Mapping[str, Any]]) -> str:
    """The objects as a file for `tfjob submit` and `kubectl apply`."""
    return "---\n".join(as_yaml(for_new_cluster(each)) for each in objects)


def exported(manifest: Mapping[str, Any]) -> Objects:
    """A job of a cluster, as it could be created again."""
    return [for_new_cluster(manifest)]


def job_among(objects: Objects) -> dict[str, Any]:
    return next(each for each in objects if is_job(each))
