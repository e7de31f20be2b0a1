"""How much more a job requests than this machine has, as text for people."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tfjob.core.job import Job
from tfjob.k8s import quantity
from tfjob.k8s.quantity import Form, Quantity
from tfjob.k8s.resource_usage import ZERO
from tfjob.local.node.overcommit import Overcommit
from tfjob.local.node.resource_fit import GPU, sum_of
from tfjob.sdk.job_documents import CheckedDocument

Amounts = Mapping[str, str]
"""The allocatable resources of a node, as its status lists them."""
_GIB: Final = 2**30 * 10**9
_PODS: Final = "pods"


def excess(templates: Iterable[Mapping[str, Any]], allocatable: Amounts) -> dict[str, str]:
    """`40 cpu (this machine has 2)`, by the name of each resource that the pods exceed."""
    found = {}
    for name, amount in sorted(sum_of(templates).items()):
        has = quantity.parse(allocatable.get(name, "0")) or ZERO
        if name != _PODS and amount > has:
            found[name] = f"{amount_text(amount)} {name} (this machine has {amount_text(has)})"
    return found


def fit_text(job: Job, allocatable: Amounts) -> str:
    """What `--fit` does for this job."""
    found = excess(_templates(job), allocatable)
    if not found:
        return "--fit: the job fits on this machine, so nothing is ignored"
    shared = "; replicas share the GPUs" if GPU in found and allocatable.get(GPU) else ""
    return f"--fit: the requests for {_listed(found)} are ignored{shared}"


def excess_text(job: Job, allocatable: Amounts, *, shares_gpus: bool = False) -> str:
    """Which replicas cannot start here, ever or all at once; empty if they can."""
    for each in job.replicas:
        found = excess([each.template], allocatable)
        if found and each.count:
            return (
                f"a {each.task} requests {_listed(found)} and never starts here; --fit runs it"
                " all the same"
            )
    found = excess(_templates(job), allocatable)
    if shares_gpus:
        found.pop(GPU, None)
    if not found:
        return ""
    remedy = "--share-gpus or --fit" if set(found) == {GPU} else "--fit"
    return (
        f"all replicas together request {_listed(found)}: those that do not fit wait until others"
        f" end; {remedy} runs all at once"
    )


def size_text(checked: CheckedDocument, allocatable: Amounts, overcommit: Overcommit) -> str:
    """What a person should know about the size of a checked job on a node of this kind."""
    job = checked.decode()
    if not isinstance(job, Job):
        return ""
    if overcommit.requests:
        return fit_text(job, allocatable)
    return excess_text(job, allocatable, shares_gpus=overcommit.gpus)


def amount_text(amount: Quantity) -> str:
    """Sizes in GiB, because the memory of a machine is no round number."""
    if amount.form is Form.BINARY and amount.nano >= _GIB:
        return f"{amount.nano / _GIB:.1f}".removesuffix(".0") + "Gi"
    return amount.render()


def _templates(job: Job) -> list[Mapping[str, Any]]:
    return [each.template for each in job.replicas for _ in range(each.count)]


def _listed(found: Mapping[str, str]) -> str:
    *most, last = found.values()
    return f"{', '.join(most)} and {last}" if most else last
