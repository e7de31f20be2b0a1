"""Which dialect reads which document."""

import pytest

from tfjob.dialects.registry import DIALECTS, dialect_for


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
