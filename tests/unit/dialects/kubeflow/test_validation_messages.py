"""Every rejection has a hint that can be followed."""

import pytest

from tests.support.tfjobs import container, of_types, replica, tfjob
from tests.unit.dialects.verdicts import REFUSED, Json, named
from tfjob.dialects.kubeflow import validation_messages
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.k8s import names

LIMIT = "54 characters or less, since pod and service names are derived from it"


def advice_on(manifest: Json) -> list[str]:
    return [fault.remedy for fault in KubeflowV1().validate(manifest)]


@pytest.mark.parametrize("case", REFUSED)
def test_every_fault_has_a_remedy_that_is_no_part_of_its_text(case: str) -> None:
    manifest, _ = REFUSED[case]
    faults = KubeflowV1().validate(manifest)
    assert faults
    for fault in faults:
        assert fault.remedy
        assert fault.remedy not in fault.text


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ("00test", "use a name such as job-00test"),
        ("My.Job", "use a name such as my-job"),
        ("-a-", "use a name such as a"),
        ("a" * 70, f"shorten it to {LIMIT}, for example {'a' * 54}"),
        ("A" * 70, f"use a name of {LIMIT}, such as {'a' * 54}"),
        ("Übung", "use a name such as bung"),
        ("…", "use lower-case letters, digits and '-'"),
    ],
)
def test_bad_name_is_answered_by_the_nearest_allowed_one(given: str, remedy: str) -> None:
    assert advice_on(named(given))[0] == remedy


@pytest.mark.parametrize("given", ["0", "9" * 80, "a-" * 40, "A_B", "--x"])
def test_proposed_name_is_a_legal_one(given: str) -> None:
    job = tfjob("E5000")
    (remedy,) = advice_on({**job, "metadata": {"name": given}})
    proposed = remedy.rpartition(" ")[2]
    assert not names.dns1035_label_problems(proposed)
    assert KubeflowV1().validate({**job, "metadata": {"name": proposed}}) == []


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("Workers", "did you mean Worker?"),
        ("cheif", "did you mean Chief?"),
        ("Launcher", "use one of the supported types"),
    ],
)
def test_unknown_type_is_answered_by_the_likely_one(key: str, remedy: str) -> None:
    assert validation_messages.remedy_for_type(key, None) == remedy


def test_template_without_a_training_container_gets_a_hint_with_its_containers() -> None:
    no_containers = of_types(Worker=replica(containers=[]))
    assert advice_on(no_containers) == [validation_messages.NO_CONTAINERS_REMEDY] * 2
    other_name = of_types(Worker=replica(containers=[container("main")]))
    assert advice_on(other_name) == [validation_messages.NO_TRAINING_CONTAINER_REMEDY]


@pytest.mark.parametrize(
    ("manifest", "remedy"),
    [
        (tfjob(restart="Onfailure"), "did you mean OnFailure?"),
        (tfjob(run_policy={"cleanPodPolicy": "running"}), "did you mean Running?"),
        (
            tfjob(run_policy={"cleanPodPolicy": "zzz"}),
            "use one of the supported values, or leave the field out",
        ),
        (tfjob(run_policy={"managedBy": "me"}), validation_messages.MANAGER_REMEDY),
        (tfjob(run_policy={"backoffLimit": -1}), "write 0 or more"),
        (tfjob(run_policy={"backoffLimit": "3"}), "write a whole number, without quotes"),
        (tfjob(run_policy={"suspend": "true"}), "write true or false, without quotes"),
        (tfjob("C2"), validation_messages.MANY_LEADERS_REMEDY),
        (named("a" * 55), "shorten it to 54 characters or less"),
    ],
)
def test_advice_names_what_to_write(manifest: Json, remedy: str) -> None:
    assert advice_on(manifest) == [remedy]
