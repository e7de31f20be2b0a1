"""The registry of served kinds."""

from tfjob.local.apiserver.kinds import version_rank


def test_versions_sort_as_in_kubernetes() -> None:
    names = ["foo", "v1alpha1", "v1beta2", "v1", "v10", "v1beta10", "v2"]
    assert sorted(names, key=version_rank) == [
        "v10",
        "v2",
        "v1",
        "v1beta10",
        "v1beta2",
        "v1alpha1",
        "foo",
    ]
