"""What a person reads about a job that is larger than the machine."""

from typing import Any

import pytest

from tests.support.tfjobs import tfjob
from tfjob.core.job import Job
from tfjob.k8s import quantity
from tfjob.sdk.jobs import ClusterJob, stored_dialects
from tfjob.sdk.machine_size import amount_text, excess_text, fit_text

SMALL = {"cpu": "2", "memory": "8000000Ki", "pods": "500"}
WITH_GPUS = SMALL | {"nvidia.com/gpu": "2"}


def job(**resources: Any) -> Job:
    """A chief without requests and two workers with these."""
    manifest = tfjob("C1 W2")
    template = manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    template["spec"]["containers"][0]["resources"] = resources
    dialect = next(each for each in stored_dialects() if each.kind == manifest["kind"])
    found = ClusterJob.of(dialect, manifest).job
    assert isinstance(found, Job)
    return found


def test_a_job_that_fits_is_said_to() -> None:
    assert excess_text(job(requests={"cpu": "1"}), SMALL) == ""
    assert fit_text(job(requests={"cpu": "1"}), SMALL) == (
        "--fit: the job fits on this machine, so nothing is ignored"
    )


def test_replicas_that_fit_one_by_one_wait_for_each_other() -> None:
    assert excess_text(job(requests={"cpu": "2"}), SMALL) == (
        "all replicas together request 4 cpu (this machine has 2): those that do not fit wait"
        " until others end; --fit runs all at once"
    )


def test_replicas_that_lack_gpus_alone_can_share_them() -> None:
    gpus = job(limits={"nvidia.com/gpu": 2})
    assert excess_text(gpus, WITH_GPUS).endswith("end; --share-gpus or --fit runs all at once")
    assert excess_text(gpus, WITH_GPUS, shares_gpus=True) == ""
    more = job(limits={"nvidia.com/gpu": 2, "cpu": "2"})
    assert excess_text(more, WITH_GPUS).endswith("end; --fit runs all at once")
    assert excess_text(more, WITH_GPUS, shares_gpus=True).startswith(
        "all replicas together request 4 cpu (this machine has 2): "
    )
    large = excess_text(job(limits={"nvidia.com/gpu": 3}), WITH_GPUS, shares_gpus=True)
    assert large.startswith("a worker requests 3 nvidia.com/gpu (this machine has 2) and never")


def test_a_replica_that_never_fits_is_named() -> None:
    large = job(requests={"memory": "64Gi"}, limits={"nvidia.com/gpu": 8})
    assert excess_text(large, SMALL) == (
        "a worker requests 64Gi memory (this machine has 7.6Gi) and 8 nvidia.com/gpu (this machine"
        " has 0) and never starts here; --fit runs it all the same"
    )


@pytest.mark.parametrize(
    ("machine", "told"),
    [
        (SMALL, "8 nvidia.com/gpu (this machine has 0) are ignored"),
        (WITH_GPUS, "8 nvidia.com/gpu (this machine has 2) are ignored; replicas share the GPUs"),
    ],
)
def test_what_is_ignored_is_listed(machine: dict[str, str], told: str) -> None:
    large = job(limits={"nvidia.com/gpu": 4, "cpu": "20"})
    expected = f"--fit: the requests for 40 cpu (this machine has 2) and {told}"
    assert fit_text(large, machine) == expected


@pytest.mark.parametrize(
    ("given", "shown"), [("500m", "500m"), ("24684100Ki", "23.5Gi"), ("300Gi", "300Gi"), ("3", "3")]
)
def test_sizes_are_easy_to_read(given: str, shown: str) -> None:
    amount = quantity.parse(given)
    assert amount is not None
    assert amount_text(amount) == shown
