"""The lookup of the dialect for a document."""

import pytest

from tfjob.dialects.registry import DESCRIPTORS, DIALECTS, dialect_for


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_versions_of_kubeflow_are_read_by_their_own_dialect(version: str) -> None:
    found = dialect_for(f"kubeflow.org/{version}", "TFJob")
    assert found is not None
    assert (found.group, found.version, found.kind) == ("kubeflow.org", version, "TFJob")


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("kubeflow.org/v2", "TFJob"),
        ("kubeflow.org/v1", "PyTorchJob"),
        ("v1", "TFJob"),
        ("kubeflow.org/v1", "tfjob"),
        (None, None),
        (1, "TFJob"),
        (["kubeflow.org/v1"], {}),
    ],
)
def test_other_documents_are_read_by_nobody(api_version: object, kind: object) -> None:
    assert dialect_for(api_version, kind) is None


def test_no_two_dialects_read_the_same_documents() -> None:
    names = [(each.group, each.version, each.kind) for each in DIALECTS]
    assert len(set(names)) == len(names)


def test_every_dialect_is_a_version_of_its_own_definition() -> None:
    for each in DIALECTS:
        definition = each.crd()
        assert definition["metadata"]["name"] == f"{each.plural}.{each.group}"
        assert definition["spec"]["names"]["kind"] == each.kind
        assert each.version in [version["name"] for version in definition["spec"]["versions"]]


def test_a_short_name_means_the_jobs_of_one_api() -> None:
    names = [each.short_name for found in DESCRIPTORS for each in found.dialects[:1]]
    assert len(set(names)) == len(DESCRIPTORS)
    taken = {word for each in DIALECTS for word in (each.plural, each.kind.lower())}
    assert not set(names) & taken
    for each in DIALECTS:
        assert each.crd()["spec"]["names"]["shortNames"] == [each.short_name]


def test_versions_of_one_descriptor_share_a_definition_that_stores_the_first() -> None:
    for found in DESCRIPTORS:
        assert all(each.crd() == found.definition for each in found.dialects)
        versions = found.definition["spec"]["versions"]
        assert [each["name"] for each in versions if each["storage"]] == [found.stored.version]


def test_a_dialect_is_called_after_its_folder() -> None:
    for found in DESCRIPTORS:
        assert (
            type(found.stored).__module__ == f"tfjob.dialects.{found.name}.{found.stored.version}"
        )


def test_names_of_descriptors_schemes_and_flags_are_taken_once() -> None:
    for names in (
        [each.name for each in DESCRIPTORS],
        [each.scheme for each in DESCRIPTORS],
        [flag.name for each in DESCRIPTORS for flag in each.flags],
    ):
        assert len(set(names)) == len(names)
