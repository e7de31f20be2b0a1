"""Any input leads to faults or to a job that can run, never to an exception."""

import copy
import itertools
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.builders import NOW, manifests_of
from tests.unit.dialects.almost_right import spoilt
from tests.unit.dialects.tensorflow.almost_right import SPEC
from tests.unit.dialects.tensorflow.jobs import DIALECT, a_pod, around, end, entry, tfjob
from tests.unit.k8s.json_values import JSON
from tfjob.core.invalid_job import InvalidJob, reject
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.reconcile import reconcile
from tfjob.dialects.base import Settings, StatusContext
from tfjob.dialects.tensorflow.config import FLAG, Accelerator, ControllerConfig
from tfjob.k8s.field import summary

GPU = Accelerator(
    volumes=[{"name": "v", "mountPath": "/m", "hostPath": "/h"}], env=[{"name": "E", "value": "e"}]
)
SETTINGS = st.builds(
    Settings,
    options=st.builds(
        lambda **fields: {FLAG: ControllerConfig(**fields)},
        tf_image=st.sampled_from(["", "img"]),
        accelerators=st.sampled_from([{}, {"gpu": GPU}]),
        has_cluster_ips=st.booleans(),
        clean_policy=st.sampled_from(["None", "Running", "All"]),
    ),
)
STATUS = st.fixed_dictionaries(
    {},
    optional={
        "phase": spoilt(st.sampled_from(["", "Creating", "Running", "CleanUp", "Done", "Failed"])),
        "state": spoilt(st.sampled_from(["Running", "Succeeded", "Failed"])),
        "replicaStatuses": spoilt(st.lists(st.fixed_dictionaries({"ReplicasStates": JSON}))),
    },
)
CODES = st.none() | st.sampled_from([0, 1, 137])


def run(document: Any, flags: Settings, code: int | None = None) -> None:
    """A document's whole way, from the file to the children that would be sent."""
    before = copy.deepcopy(document)
    faults = DIALECT.validate(document)
    summary(faults)
    tokens = (f"tok{number}" for number in itertools.count())
    spec = DIALECT.defaulted_spec(document, flags, tokens=tokens, is_taken=lambda _: False)
    found = DIALECT.decode(document, flags)
    if spec is not None and not faults:
        msgspec.json.encode(spec)
        assert isinstance(DIALECT.decode({**document, "spec": spec}, flags), Job)
    show(document, found, code, is_good=not faults)
    assert repr(document) == repr(before)


def show(document: Any, found: Job | InvalidJob, code: int | None, *, is_good: bool) -> None:
    children = Children()
    if isinstance(found, Job):
        pods = () if code is None else (a_pod(state=end(code)),)
        children = around(found, *pods)
        bare = reconcile(job=found, children=Children(), now=NOW)
        plan = reconcile(job=found, children=children, now=NOW)
        if is_good:
            msgspec.json.encode(manifests_of(found, bare))
    else:
        plan = reject(found, now=NOW)
        assert not is_good
    stored = document.get("status") if isinstance(document, dict) else None
    observed = StatusContext(
        children=children, stored=stored if isinstance(stored, dict) else {}, now=NOW
    )
    shown = DIALECT.encode_status(found, plan.status or found.status, observed)
    msgspec.json.encode({key: value for key, value in shown.items() if key not in observed.stored})
    assert shown.keys() <= DIALECT.status_fields | observed.stored.keys()


@given(JSON, SETTINGS)
def test_any_manifest(document: Any, flags: Settings) -> None:
    run(document, flags)


@given(JSON)
def test_any_metadata(metadata: Any) -> None:
    run({**tfjob(entry()), "metadata": metadata}, Settings())


@given(JSON)
def test_any_spec(spec: Any) -> None:
    run({**tfjob(), "spec": spec}, Settings())


@given(STATUS | JSON, CODES)
def test_any_status(status: Any, code: int | None) -> None:
    run({**tfjob(entry(), RuntimeId="76no"), "status": status}, Settings(), code)


@settings(max_examples=60)
@given(SPEC, SETTINGS, CODES)
def test_job_that_is_almost_right(spec: Any, flags: Settings, code: int | None) -> None:
    run({**tfjob(), "spec": spec}, flags, code)


@given(SPEC, SETTINGS)
def test_completing_twice_is_completing_once(spec: Any, flags: Settings) -> None:
    given_job = {**tfjob(), "spec": spec}
    tokens = (f"tok{number}" for number in itertools.count())
    once = DIALECT.defaulted_spec(given_job, flags, tokens=tokens, is_taken=lambda _: False)
    if once is None:
        return
    again = {**given_job, "spec": once}
    assert DIALECT.defaulted_spec(again, flags, tokens=tokens, is_taken=lambda _: False) is None
    without = {key: value for key, value in once.items() if key != "RuntimeId"}
    twice = DIALECT.defaulted_spec(
        {**given_job, "spec": without},
        flags,
        tokens=iter([once["RuntimeId"]]),
        is_taken=lambda _: False,
    )
    assert twice == once


def test_deep_template_is_rejected_and_still_decoded() -> None:
    deep: Any = 0
    for _ in range(50_000):
        deep = {"a": deep}
    document = tfjob(entry(template={"spec": {"containers": [{"name": "tensorflow"}], "x": deep}}))
    (fault,) = DIALECT.validate(document)
    assert "levels" in fault.text
    assert isinstance(DIALECT.decode(document, Settings()), Job)


def test_deep_policy_is_rejected_and_crashes_nothing() -> None:
    deep: Any = 0
    for _ in range(50_000):
        deep = {"a": deep}
    document = tfjob(entry(), terminationPolicy=deep)
    assert not isinstance(DIALECT.decode(document, Settings()), Job)
