"""A job whose TF_CONFIG is too large is rejected in every dialect."""

import bisect
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.other_jobs import old_job, training_job
from tests.support.tfjobs import tfjob
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import MAX_REPLICAS, Job
from tfjob.core.tf_config import MAX_VALUE_BYTES, ClusterSpec, max_size
from tfjob.dialects.base import Settings
from tfjob.dialects.registry import dialect_for

Json = dict[str, Any]
ROLES = st.dictionaries(st.sampled_from("CPWE"), st.integers(0, 120), min_size=1)


def new_job(count: int) -> Json:
    return tfjob(f"W{count}")


def older_job(count: int) -> Json:
    job = old_job("MASTER", "WORKER", RuntimeId="76no76no76no")
    job["spec"]["replicaSpecs"][1]["replicas"] = count
    return job


def other_job(count: int) -> Json:
    job = training_job(name="training-of-a-model")
    job["spec"]["replicaSpecs"][0]["replicas"] = count
    return job


JOBS = pytest.mark.parametrize("job_of", [new_job, older_job, other_job])
PATHS = {
    "TFJob": "spec.tfReplicaSpecs",
    "TfJob": "spec.replicaSpecs",
    "TensorFlowTrainingJob": "spec.replicaSpecs",
}


def named(job: Json, *, namespace: str = "default") -> Json:
    job["metadata"] |= {"namespace": namespace, "uid": "u"}
    return job


def read(job: Json) -> Job | InvalidJob:
    dialect = dialect_for(job["apiVersion"], job["kind"])
    assert dialect is not None
    return dialect.decode(job, Settings())


def written_size(job: Job) -> int:
    cluster = ClusterSpec(job)
    last = ((each, each.count - 1) for each in job.replicas if each.count)
    return max((len(cluster.text(*each) or "") for each in last), default=0)


def most(job_of: Callable[[int], Json]) -> int:
    """The largest count whose job is taken."""
    counts = range(1, MAX_REPLICAS)
    is_refused = lambda count: isinstance(read(named(job_of(count))), InvalidJob)  # noqa: E731
    return bisect.bisect_left(counts, True, key=is_refused)


@JOBS
def test_the_widest_job_that_is_taken_fits_and_one_replica_more_does_not(
    job_of: Callable[[int], Json],
) -> None:
    last = most(job_of)
    taken = read(named(job_of(last)))
    assert isinstance(taken, Job)
    assert MAX_VALUE_BYTES - 100 < written_size(taken) <= MAX_VALUE_BYTES


@JOBS
def test_the_refusal_names_the_field_the_limit_and_the_remedy(
    job_of: Callable[[int], Json],
) -> None:
    job = named(job_of(4_500))
    refused = read(job)
    assert isinstance(refused, InvalidJob)
    (fault,) = refused.faults
    assert fault.path == PATHS[job["kind"]]
    assert "Linux allows at most 131061 in an environment variable" in fault.text
    assert fault.remedy == "use fewer replicas, or shorter names for the job and its namespace"
    dialect = dialect_for(job["apiVersion"], job["kind"])
    assert dialect is not None
    assert dialect.validate(job) == [fault]


def test_longer_names_allow_fewer_replicas() -> None:
    wide = named(tfjob("W2000", name="n" * 40), namespace="s" * 40)
    assert isinstance(read(named(tfjob("W2000"))), Job)
    assert isinstance(read(wide), InvalidJob)


def test_workers_that_do_not_know_one_another_may_be_many() -> None:
    assert isinstance(read(named(tfjob("P2 W4900", enableDynamicWorker=True))), Job)
    assert isinstance(read(named(tfjob("P4900 W2", enableDynamicWorker=True))), InvalidJob)


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ("W5001", "less than or equal to 5000"),
        ("P1 W5000", "must be no more than 5000 replicas in total"),
    ],
)
def test_more_replicas_than_any_job_may_have_are_rejected_by_their_number(
    roles: str, words: str
) -> None:
    refused = read(named(tfjob(roles, enableDynamicWorker=True)))
    assert isinstance(refused, InvalidJob)
    assert words in refused.faults[0].text


@given(ROLES, st.booleans(), st.booleans(), st.booleans())
def test_the_size_is_that_of_the_text(
    roles: dict[str, int], is_dynamic: bool, lists_empty: bool, has_evaluator: bool
) -> None:
    given_roles = {kind: min(count, 1) if kind == "C" else count for kind, count in roles.items()}
    words = " ".join(f"{kind}{count}" for kind, count in given_roles.items())
    job = named(tfjob(words, enableDynamicWorker=is_dynamic))
    dialect = dialect_for("kubeflow.org/v1", "TFJob")
    assert dialect is not None
    settings = Settings(has_evaluator_in_cluster=has_evaluator, cluster_domain="é.example")
    found = dialect.decode(job, settings)
    assert isinstance(found, Job)
    form = msgspec.structs.replace(found.tf_config, lists_empty_types=lists_empty)
    found = msgspec.structs.replace(found, tf_config=form)
    cluster = ClusterSpec(found)
    last = [(each, each.count - 1) for each in found.replicas if each.count]
    texts = [(cluster.text(*each) or "").encode() for each in last]
    assert max_size(found) == max(map(len, texts), default=0)
