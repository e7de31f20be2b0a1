"""Generates nearly valid TFJobs, in which some values are arbitrary."""

import math
from typing import Any

from hypothesis import strategies as st

from tests.unit.k8s.json_values import JSON


def spoilt(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly a sensible value, now and then anything."""
    return st.integers(0, 15).flatmap(lambda number: JSON if number == 7 else value)


CONTAINER = st.fixed_dictionaries(
    {"name": spoilt(st.just("tensorflow")), "image": spoilt(st.just("img"))},
    optional={
        "ports": spoilt(
            st.lists(
                st.fixed_dictionaries(
                    {"containerPort": spoilt(st.integers(1, 9))},
                    optional={
                        "name": spoilt(st.just("tfjob-port")),
                        "protocol": spoilt(st.just("UDP")),
                    },
                ),
                max_size=3,
            )
        ),
        "env": spoilt(st.lists(st.fixed_dictionaries({"name": st.text()}), max_size=2)),
        "resources": spoilt(st.fixed_dictionaries({"limits": st.dictionaries(st.text(), JSON)})),
    },
)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "labels": spoilt(st.dictionaries(st.text(), st.text(), max_size=2)),
        "finalizers": spoilt(st.lists(st.text(), max_size=2)),
    },
)
TEMPLATE = st.fixed_dictionaries(
    {
        "spec": st.fixed_dictionaries(
            {"containers": st.lists(CONTAINER, min_size=1, max_size=2)},
            optional={"schedulerName": JSON, "restartPolicy": JSON, "priorityClassName": JSON},
        )
    },
    optional={"metadata": spoilt(METADATA)},
)
REPLICA = st.fixed_dictionaries(
    {"template": spoilt(TEMPLATE)},
    optional={
        "replicas": spoilt(st.integers(0, 3)),
        "restartPolicy": spoilt(st.sampled_from(["Always", "OnFailure", "Never", "ExitCode"])),
    },
)
SCHEDULING = st.fixed_dictionaries(
    {},
    optional={
        "minAvailable": spoilt(st.integers(0, 3)),
        "queue": spoilt(st.text()),
        "minResources": spoilt(st.dictionaries(st.text(), st.sampled_from([1, "1Gi"]))),
    },
)
SPEC = st.fixed_dictionaries(
    {
        "tfReplicaSpecs": st.dictionaries(
            spoilt(st.sampled_from(["Worker", "PS", "chief", "Evaluator"])).filter(
                lambda key: isinstance(key, str)
            ),
            REPLICA,
            min_size=1,
            max_size=3,
        )
    },
    optional={
        "runPolicy": spoilt(
            st.fixed_dictionaries(
                {},
                optional={
                    "suspend": spoilt(st.booleans()),
                    "backoffLimit": spoilt(st.integers(0, 3)),
                    "ttlSecondsAfterFinished": spoilt(st.integers(0, 3)),
                    "activeDeadlineSeconds": spoilt(st.integers(0, 2**63 - 1)),
                    "schedulingPolicy": spoilt(SCHEDULING),
                    "managedBy": spoilt(st.just("kubeflow.org/training-operator")),
                },
            )
        ),
        "cleanPodPolicy": spoilt(st.sampled_from(["All", "Running", "None", ""])),
        "enableDynamicWorker": spoilt(st.booleans()),
        "successPolicy": spoilt(st.sampled_from(["", "AllWorkers"])),
    },
)


def is_sendable(value: Any) -> bool:
    """Every client can write it: no NaN, and no number wider than 64 bits."""
    if isinstance(value, dict):
        return all(is_sendable(each) for each in value.values())
    if isinstance(value, list):
        return all(is_sendable(each) for each in value)
    if isinstance(value, float):
        return math.isfinite(value) and abs(value) < 2**63
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def as_sent(value: Any) -> Any:
    """The value as kubectl sends it: a whole number has no point."""
    if isinstance(value, dict):
        return {key: as_sent(each) for key, each in value.items()}
    if isinstance(value, list):
        return [as_sent(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


SENT_SPEC = SPEC.filter(is_sendable).map(as_sent)
