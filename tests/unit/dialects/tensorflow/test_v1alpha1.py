"""The properties of the dialect and the APIs of its companions."""

from tfjob.core.job import Workload
from tfjob.dialects.base import Dialect, Settings
from tfjob.dialects.tensorflow.v1alpha1 import TensorflowV1alpha1
from tfjob.local.apiserver.selector import parse_labels

DIALECT: Dialect = TensorflowV1alpha1()


def test_identity() -> None:
    assert (DIALECT.group, DIALECT.version) == ("tensorflow.org", "v1alpha1")
    assert (DIALECT.kind, DIALECT.plural) == ("TfJob", "tfjobs")
    assert DIALECT.component == "tf-job-operator"


def test_replicas_are_run_by_batch_jobs_and_shown_in_the_status() -> None:
    assert DIALECT.workload is Workload.JOB
    assert DIALECT.shows_children


def test_children_are_found_by_their_labels() -> None:
    selector = parse_labels(DIALECT.child_selector)
    assert selector.matches({"tensorflow.org": "", DIALECT.job_label: "j"})
    assert not selector.matches({"app": "x"})


def test_objects_beside_the_replicas() -> None:
    assert [each.name for each in DIALECT.companions] == ["/v1/configmaps", "apps/v1/deployments"]
    assert DIALECT.pod_groups(Settings(gang_scheduler_name="volcano")) is None
