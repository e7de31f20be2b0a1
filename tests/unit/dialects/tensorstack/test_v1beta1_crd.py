"""The published CRD of TensorFlowTrainingJobs."""

from tests.unit.dialects.schemas import pieces
from tests.unit.dialects.tensorstack.jobs import DIALECT

CRD = DIALECT.crd()
(VERSION,) = CRD["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]


def test_names() -> None:
    assert CRD["metadata"]["name"] == "tensorflowtrainingjobs.batch.tensorstack.dev"
    assert CRD["spec"]["group"] == "batch.tensorstack.dev"
    assert CRD["spec"]["scope"] == "Namespaced"
    assert CRD["spec"]["names"] == {
        "kind": "TensorFlowTrainingJob",
        "listKind": "TensorFlowTrainingJobList",
        "plural": "tensorflowtrainingjobs",
        "singular": "tensorflowtrainingjob",
        "shortNames": ["tj"],
    }


def test_one_version_with_a_status() -> None:
    assert (VERSION["name"], VERSION["served"], VERSION["storage"]) == ("v1beta1", True, True)
    assert VERSION["subresources"] == {"status": {}}


def test_columns() -> None:
    columns = [
        (each["name"], each["jsonPath"], each.get("priority", 0))
        for each in VERSION["additionalPrinterColumns"]
    ]
    assert columns == [
        ("Phase", ".status.phase", 0),
        ("Running", ".status.aggregate.running", 0),
        ("Failed", ".status.aggregate.failed", 0),
        ("Restarts", ".status.backoffCount", 0),
        ("Age", ".metadata.creationTimestamp", 0),
        ("Queue", ".spec.scheduler.t9kScheduler.queue", 1),
        ("Why", ".status.diagnosis.cause", 1),
    ]


def test_older_spellings_are_declared() -> None:
    spec = SCHEMA["properties"]["spec"]["properties"]
    modes = spec["runMode"]["properties"]
    assert "cleanPodPolicy" in spec["runPolicy"]["properties"]
    assert "enable" in modes["debug"]["properties"]
    assert "enable" in modes["pause"]["properties"]


def test_nothing_is_filled_in_by_the_api_server() -> None:
    assert [path for path, piece in pieces(SCHEMA) if "default" in piece] == []
