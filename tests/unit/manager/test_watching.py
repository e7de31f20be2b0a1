"""Each change of a job or of a child becomes the key of the job it concerns."""

from typing import Any

import pytest

from tests.support.builders import a_pod, meta
from tfjob.client.wire import Key
from tfjob.dialects.kubeflow_v1 import KubeflowV1
from tfjob.k8s.meta import ObjectMeta, OwnerReference
from tfjob.k8s.pod import Pod
from tfjob.manager import watching
from tfjob.manager.watching import GATHERING, SCHEDULER_PLUGINS, VOLCANO, group_resource


def keys(old: Any, new: Any) -> dict[Key, float]:
    found: dict[Key, float] = {}
    watching._for_owner(
        old, new, dialect=KubeflowV1(), enqueue=lambda key, delay: found.update({key: delay})
    )
    return found


def pod(name: str = "j", *, label: str = "", **fields: Any) -> Pod:
    owner = OwnerReference(api_version="x", kind="TFJob", name=name, uid="U", controller=True)
    labels = {"training.kubeflow.org/job-name": label} if label else {}
    return Pod(
        metadata=ObjectMeta(
            name="p",
            namespace="n",
            labels=labels,
            owner_references=[owner] if name else [],
            **fields,
        )
    )


def test_child_stands_for_the_job_that_owns_it() -> None:
    assert set(keys(None, pod("j", label="other"))) == {("n", "j")}


def test_orphan_stands_for_the_job_it_names() -> None:
    assert set(keys(None, pod("", label="j"))) == {("n", "j")}
    assert keys(None, pod("")) == {}


def test_child_that_changes_hands_concerns_both_jobs() -> None:
    assert set(keys(pod("a"), pod("b"))) == {("n", "a"), ("n", "b")}


def test_news_that_others_will_follow_may_wait_and_ends_may_not() -> None:
    running, failed = a_pod(phase="Running"), a_pod(phase="Failed")
    assert set(keys(None, running).values()) == {GATHERING}
    assert set(keys(running, failed).values()) == {0.0}
    assert set(keys(failed, None).values()) == {0.0}
    terminating = a_pod(phase="Running", deleted=-5)
    assert set(keys(running, terminating).values()) == {0.0}


def test_job_stands_for_itself() -> None:
    found: dict[Key, float] = {}
    job = Pod(metadata=meta("j"))
    watching._for_itself(job, lambda key, delay: found.update({key: delay}))
    watching._for_itself(None, lambda key, delay: found.update({key: delay}))
    assert found == {(job.metadata.namespace, "j"): 0.0}


@pytest.mark.parametrize(
    ("scheduler", "resource"),
    [
        ("", None),
        ("none", None),
        ("volcano", VOLCANO),
        ("Volcano", VOLCANO),
        ("scheduler-plugins-scheduler", SCHEDULER_PLUGINS),
    ],
)
def test_groups_are_those_of_the_scheduler(scheduler: str, resource: object) -> None:
    assert group_resource(scheduler) == resource
