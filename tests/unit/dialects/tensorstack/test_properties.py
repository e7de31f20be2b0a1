"""Any input leads to faults or to a job that can run, never to an exception."""

import copy
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import NOW, manifests_of
from tests.unit.dialects.tensorstack.almost_right import SPEC
from tests.unit.dialects.tensorstack.jobs import DIALECT, pods, training_job
from tests.unit.k8s.json_values import JSON
from tfjob.core.invalid_job import reject
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.reconcile import reconcile
from tfjob.dialects.base import Settings, StatusContext
from tfjob.k8s.field import summary

SETTINGS = st.builds(
    Settings,
    options=st.fixed_dictionaries(
        {"t9k-pod-group-backend": st.sampled_from(["t9k", "volcano", "none"])}
    ),
    served=st.sampled_from([frozenset(), frozenset({"tensorstack.dev/v1beta1/tensorboards"})]),
)
PAUSED_BEFORE = {"phase": "Resuming", "conditions": [{"type": "Paused", "status": "False"}]}


def run(document: Any, flags: Settings | None = None) -> None:
    """A document's whole way, from the file to the children and the status that would be sent."""
    flags = flags or Settings()
    children = Children(pods=pods(worker=2, chief=1))
    before = copy.deepcopy(document)
    faults = DIALECT.validate(document)
    summary(faults)
    found = DIALECT.decode(document, flags)
    if isinstance(found, Job):
        plan = reconcile(job=found, children=children, now=NOW)
        if not faults:
            msgspec.json.encode(manifests_of(found, plan))
    else:
        assert faults
        plan = reject(found, children=children, now=NOW)
    stored = document.get("status") if isinstance(document, dict) else None
    observed = StatusContext(children=children, stored=stored or {}, now=NOW)
    shown = DIALECT.encode_status(found, plan.status or found.status, observed)
    msgspec.json.encode(shown)
    assert shown.keys() <= DIALECT.status_fields
    assert repr(document) == repr(before)


@given(JSON)
def test_whole_manifest(document: Any) -> None:
    run(document)


@given(JSON)
def test_metadata(metadata: Any) -> None:
    run(training_job() | {"metadata": metadata})


@given(JSON)
def test_spec(spec: Any) -> None:
    run(training_job() | {"spec": spec})


@given(SPEC, SETTINGS, st.sampled_from([{}, PAUSED_BEFORE]))
def test_job_that_is_almost_right(spec: Any, flags: Settings, status: Any) -> None:
    run(training_job() | {"spec": spec, "status": status}, flags)
