"""The properties of the dialect."""

from tests.unit.dialects.tensorstack.jobs import DIALECT, training_job
from tfjob.core.job import Workload
from tfjob.dialects.base import Dialect, Settings


def test_it_is_a_dialect() -> None:
    found: Dialect = DIALECT
    assert (found.group, found.version, found.kind, found.plural) == (
        "batch.tensorstack.dev",
        "v1beta1",
        "TensorFlowTrainingJob",
        "tensorflowtrainingjobs",
    )
    assert found.workload is Workload.POD
    assert found.component == "tensorflowtrainingjob-controller"
    assert found.child_selector == "tensorstack.dev/component=tensorflowtrainingjob"
    assert found.job_label == "tensorflowtrainingjob"
    assert found.shows_children


def test_vendors_tensorboard_may_be_missing_and_deployments_may_not() -> None:
    assert {each.name: each.is_optional for each in DIALECT.companions} == {
        "apps/v1/deployments": False,
        "tensorstack.dev/v1beta1/tensorboards": True,
    }


def test_stored_spec_stays_as_its_user_wrote_it() -> None:
    given = training_job()
    settings = Settings()
    assert (
        DIALECT.defaulted_spec(given, settings, tokens=iter(()), is_taken=lambda _name: False)
        is None
    )


def test_job_goes_to_the_hub_and_comes_back() -> None:
    given = training_job("C1 W2", restart="Never")
    there = DIALECT.to_hub(given)
    assert there.manifest["apiVersion"] == "kubeflow.org/v1"
    back = DIALECT.from_hub(there.manifest)
    types = [(each["type"], each["replicas"]) for each in back.manifest["spec"]["replicaSpecs"]]
    assert types == [("chief", 1), ("worker", 2)]
