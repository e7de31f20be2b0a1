"""A list of replica types is answered with the map form of the same file."""

from typing import Any

import pytest
import yaml

from tests.support.seeds import published
from tfjob.sdk.documents import Document
from tfjob.sdk.job_documents import CheckedDocument, check

Json = dict[str, Any]


def listed(*entries: Any, key: str = "tfReplicaSpecs", api: str = "kubeflow.org/v1beta1") -> Json:
    return {
        "apiVersion": api,
        "kind": "TFJob",
        "metadata": {"name": "j"},
        "spec": {key: list(entries)},
    }


def checked(value: Json) -> CheckedDocument:
    node = yaml.compose(yaml.safe_dump(value), Loader=yaml.SafeLoader)
    found = check(Document(file="f", number=1, value=value, node=node, repeated=[]))
    assert found is not None
    return found


def remedies(value: Json) -> list[str]:
    return [fault.remedy for fault in checked(value).faults]


def form_in(remedies: list[str]) -> Json:
    """The map that one of the remedies shows."""
    (remedy,) = [each for each in remedies if "\n" in each]
    first, _, text = remedy.partition("\n")
    assert first == "write the list as a map with one key per replica type:"
    form: Json = yaml.safe_load(text)
    return form


@pytest.mark.parametrize("key", ["tfReplicaSpecs", "TFReplicaSpec", "replicaSpecs"])
@pytest.mark.parametrize("api", ["kubeflow.org/v1beta1", "kubeflow.org/v1"])
def test_seed_003_line_34_list_is_refused_with_the_map_of_this_very_file(
    key: str, api: str
) -> None:
    spec = published("003-example-tfjob")["spec"]
    entry = spec["tfReplicaSpecs"]["MASTER"]
    value = listed({"tfReplicaType": "MASTER", **entry}, key=key, api=api)
    assert form_in(remedies(value)) == spec


@pytest.mark.parametrize(
    "entry",
    [
        {"tfReplicaType": "Worker", "replicas": 2},
        {"type": "Worker", "replicas": 2},
        {"name": "Worker", "replicas": 2},
        {"Worker": {"replicas": 2}},
    ],
)
def test_the_type_is_read_wherever_people_write_it(entry: Json) -> None:
    value = listed(entry, {"replicaType": "PS"}, api="kubeflow.org/v1")
    assert form_in(remedies(value)) == {"tfReplicaSpecs": {"Worker": {"replicas": 2}, "PS": {}}}


def test_seed_003_line_42_type_that_is_missing_is_master() -> None:
    value = listed({"Replicas": 1, "Template": {"spec": {}}}, {"TfReplicaType": "WORKER"})
    assert form_in(remedies(value)) == {
        "tfReplicaSpecs": {"MASTER": {"replicas": 1, "template": {"spec": {}}}, "WORKER": {}}
    }


def test_the_map_form_is_valid() -> None:
    entry = published("003-example-tfjob")["spec"]["tfReplicaSpecs"]["MASTER"]
    value = listed(entry)
    assert checked({**value, "spec": form_in(remedies(value))}).faults == []


@pytest.mark.parametrize(
    ("api", "entries"),
    [
        ("kubeflow.org/v1beta1", []),
        ("kubeflow.org/v1beta1", [1]),
        ("kubeflow.org/v1beta1", [{}, {"tfReplicaType": "MASTER"}]),
        ("kubeflow.org/v1", [{"replicas": 2}]),
        ("kubeflow.org/v1", [{"name": "mine", "replicas": 2}]),
    ],
)
def test_list_that_means_no_map_is_answered_with_an_example(api: str, entries: list[Any]) -> None:
    value = listed(*entries, api=api)
    (remedy,) = remedies(value)
    first, _, text = remedy.partition("\n")
    assert first == "write the list as a map with one key per replica type, such as:"
    assert checked({**value, "spec": yaml.safe_load(text)}).faults == []


def test_lines_of_a_remedy_are_indented_below_it() -> None:
    value = listed({"template": {}})
    _, first, second, third, *_ = checked(value).report()
    assert first.startswith("      remedy: write the list as a map")
    assert second == "        tfReplicaSpecs:"
    assert third == "          MASTER:"
