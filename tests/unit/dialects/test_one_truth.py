"""The definition and the operator agree: what an API server takes is what a job can be made of.

Both evaluate the same rules, but on different paths: the server drops unknown fields and nulls and
sets defaults first; the operator reads what is stored, and the offline check what a user wrote.

The definition of the oldest API is weaker on purpose: it cannot see keys in other letters, so it
refuses nothing for being absent. What the operator refuses beyond it is listed here.
"""

import copy
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.unit.dialects import almost_right, verdicts
from tests.unit.dialects.almost_right import as_sent, is_sendable
from tests.unit.dialects.tensorflow import almost_right as of_tfjobs
from tests.unit.dialects.tensorflow import verdicts as of_tfjob_verdicts
from tests.unit.dialects.tensorstack import almost_right as of_training_jobs
from tests.unit.dialects.tensorstack import verdicts as of_training_verdicts
from tfjob.core.job import Job
from tfjob.dialects.base import Dialect, Settings
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.dialects.kubeflow.v1beta1 import KubeflowV1beta1
from tfjob.dialects.registry import dialect_for
from tfjob.dialects.tensorflow.v1alpha1 import TensorflowV1alpha1
from tfjob.dialects.tensorstack.v1beta1 import TensorStackV1beta1
from tfjob.k8s.field import Fault, FaultKind
from tfjob.local.apiserver.crd import Structural

Json = dict[str, Any]
OLDEST = TensorflowV1alpha1()
STRICT: tuple[Dialect, ...] = (KubeflowV1(), KubeflowV1beta1(), TensorStackV1beta1())
SERVERS: dict[str, Structural] = {}
BEYOND = (
    "invalid termination policy: ",
    "Replica is missing Template; ",
    "replicaSpecs must be specified",
    "The MASTER must have Replicas = 1",
    "is missing a container named tensorflow",
    "Missing ReplicaSpec for chief: ",
    "tbReplicaSpec.LogDir must be specified",
    "duplicate ReplicaSpec for type ",
    "chief index ",
    "must be no more than 10000 replicas in total",
    " in body must be of type ",
    "tfReplicaSpec.TfReplicaType is ",
)
"""What the operator alone says of the oldest API: something is absent, or stands in other letters,
or in a part of a template that the definition passes through."""


NULL_LABEL = {
    "metadata": {"labels": {"a": None}},
    "spec": {"containers": [{"name": "tensorflow", "image": "i"}]},
}


def server_of(dialect: Dialect) -> Structural:
    api = f"{dialect.group}/{dialect.version}"
    if api not in SERVERS:
        versions = {each["name"]: each for each in dialect.crd()["spec"]["versions"]}
        schema = versions[dialect.version]["schema"]["openAPIV3Schema"]
        SERVERS[api] = Structural(schema, "schema")
    return SERVERS[api]


def judged(dialect: Dialect, job: Json) -> tuple[Json, list[str]]:
    """The job as an API server would store it, and what the server says against it."""
    server, stored = server_of(dialect), copy.deepcopy(job)
    server.prune(stored)
    server.default(stored)
    return stored, [finding.text for finding in server.faults(stored)]


def of_api(dialect: Dialect, spec: Any, name: str = "j") -> Json:
    api = f"{dialect.group}/{dialect.version}"
    return {"apiVersion": api, "kind": dialect.kind, "metadata": {"name": name}, "spec": spec}


def without_verdict(said: list[str], faults: list[Fault]) -> list[str]:
    """Rules that could not be evaluated, in the words of both sides."""
    ours = [fault.text for fault in faults if fault.kind is FaultKind.INTERNAL]
    return [*(text for text in said if "rule evaluation error" in text), *ours]


def check(dialect: Dialect, job: Json) -> None:
    stored, said = judged(dialect, job)
    faults = dialect.validate(job)
    assert bool(said) == bool(faults), (said, faults)
    assert without_verdict(said, faults) == []
    if not said:
        assert isinstance(dialect.decode(stored, Settings()), Job)


NAME = st.one_of(
    st.just("j"),
    st.integers(40, 64).map(lambda length: "a" * length),
    st.text(alphabet="aZ0-.\n", min_size=1, max_size=5),
)


@settings(max_examples=150)
@given(almost_right.SENT_SPEC, NAME)
@example({"tfReplicaSpecs": {"Worker": {"template": NULL_LABEL}}}, "j")
def test_definition_of_tfjobs_and_the_operator_agree(spec: Any, name: str) -> None:
    for dialect in STRICT[:2]:
        check(dialect, of_api(dialect, spec, name))


@settings(max_examples=150)
@given(of_training_jobs.SPEC.filter(is_sendable).map(as_sent), NAME)
def test_definition_of_training_jobs_and_the_operator_agree(spec: Any, name: str) -> None:
    check(STRICT[2], of_api(STRICT[2], spec, name))


@settings(max_examples=150)
@given(of_tfjobs.SPEC.filter(is_sendable).map(as_sent))
def test_operator_is_stricter_than_the_oldest_definition_in_listed_ways_alone(spec: Any) -> None:
    job = of_api(OLDEST, spec)
    stored, said = judged(OLDEST, job)
    faults = OLDEST.validate(job)
    assert faults or not said, said
    assert without_verdict(said, faults) == []
    if not said:
        assert unlisted(faults) == []
        assert isinstance(OLDEST.decode(stored, Settings()), Job) != bool(faults)


def unlisted(faults: Iterable[Fault]) -> list[str]:
    texts = [fault.text for fault in faults]
    return [text for text in texts if not any(each in text for each in BEYOND)]


ACCEPTED = [
    *verdicts.ACCEPTED.values(),
    *of_training_verdicts.ACCEPTED.values(),
    *of_tfjob_verdicts.ACCEPTED.values(),
]
REFUSED = [
    *(job for job, _ in verdicts.REFUSED.values()),
    *(job for job, _ in of_training_verdicts.REFUSED.values()),
    *(job for job, _ in of_tfjob_verdicts.REFUSED.values()),
]


def dialect_of(job: Json) -> Dialect:
    found = dialect_for(job["apiVersion"], job["kind"])
    assert found is not None
    return found


def named(job: Json) -> Json:
    """The job with the name that an API server has completed."""
    metadata = dict(job["metadata"])
    if "generateName" in metadata:
        metadata = {"name": f"{metadata['generateName']}abcde"}
    return {**job, "metadata": metadata}


@pytest.mark.parametrize("job", ACCEPTED, ids=range(len(ACCEPTED)))
def test_job_of_the_lists_that_is_taken_is_taken_by_both(job: Json) -> None:
    stored, said = judged(dialect_of(job), named(job))
    assert said == []
    assert dialect_of(job).validate(job) == []
    assert isinstance(dialect_of(job).decode(stored, Settings()), Job)


@pytest.mark.parametrize("job", REFUSED, ids=range(len(REFUSED)))
def test_job_of_the_lists_that_is_rejected_is_rejected_by_both(job: Json) -> None:
    _, said = judged(dialect_of(job), named(job))
    assert said != []
    assert dialect_of(job).validate(job) != []
