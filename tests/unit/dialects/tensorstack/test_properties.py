"""Whatever is sent: faults, never an exception; and what is accepted can be run."""

import copy
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import NOW, manifests_of
from tests.unit.dialects.almost_right import spoilt
from tests.unit.dialects.tensorstack.jobs import DIALECT, container, pods, training_job
from tests.unit.k8s.json_values import JSON
from tfjob.core.invalid import reject
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.reconcile import reconcile
from tfjob.dialects.base import Observed, Settings
from tfjob.k8s.field import summary

TYPES = spoilt(st.sampled_from(["chief", "worker", "ps", "evaluator"]))
TEXTS = spoilt(st.lists(st.text(max_size=3), max_size=2))
START = st.fixed_dictionaries(
    {"type": TYPES},
    optional={"skipInitContainer": spoilt(st.booleans()), "command": TEXTS, "args": TEXTS},
)
TEMPLATE = st.fixed_dictionaries(
    {"spec": spoilt(st.just({"containers": [container()], "initContainers": []}))},
    optional={"metadata": JSON},
)
REPLICA = st.fixed_dictionaries(
    {"type": TYPES, "template": spoilt(TEMPLATE)},
    optional={
        "replicas": spoilt(st.integers(0, 3)),
        "restartPolicy": spoilt(st.sampled_from(["Always", "OnFailure", "Never", "ExitCode"])),
    },
)
BOARD = st.fixed_dictionaries(
    {"image": spoilt(st.just("i"))},
    optional={
        "trainingLogFilesets": spoilt(st.just(["t9k://pvc/p/a", "t9k://minio/s/b"])),
        "logDir": spoilt(
            st.fixed_dictionaries(
                {},
                optional={
                    "pvc": spoilt(st.just([{"name": "p", "subPath": ["a"]}])),
                    "s3": spoilt(st.just({"uri": ["a"]})),
                    "http": JSON,
                },
            )
        ),
        "suspend": spoilt(st.booleans()),
        "scheduler": spoilt(st.just({"t9kScheduler": {"queue": "q"}})),
        "resources": JSON,
    },
)
ENABLED = {"enabled": spoilt(st.booleans()), "enable": spoilt(st.booleans())}
STARTS = spoilt(st.lists(START, max_size=2))
SPEC = st.fixed_dictionaries(
    {"replicaSpecs": spoilt(st.lists(spoilt(REPLICA), min_size=1, max_size=3))},
    optional={
        "runPolicy": spoilt(
            st.fixed_dictionaries(
                {},
                optional={
                    "backoffLimit": spoilt(st.integers(-1, 3)),
                    "activeDeadlineSeconds": spoilt(st.integers(0, 2**63)),
                    "cleanUpPolicy": spoilt(st.sampled_from(["None", "all", "UNFINISHED"])),
                    "cleanPodPolicy": JSON,
                },
            )
        ),
        "scheduler": spoilt(st.just({"t9kScheduler": {"queue": "q", "priority": 1}})),
        "runMode": spoilt(
            st.fixed_dictionaries(
                {},
                optional={
                    "debug": st.fixed_dictionaries(
                        {}, optional={**ENABLED, "replicaSpecs": STARTS}
                    ),
                    "pause": st.fixed_dictionaries({}, optional={**ENABLED, "resumeSpecs": STARTS}),
                },
            )
        ),
        "tensorboardSpec": spoilt(BOARD),
    },
)
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
    observed = Observed(children=children, stored=stored or {}, now=NOW)
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
