"""Paths of printer columns and scale subresources."""

from typing import Any

import pytest

from tfjob.k8s import jsonpath


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a.b", [1]),
        ("{.a.b}", [1]),
        (".a['x-y']", [2]),
        (".l[0].t", ["one"]),
        (".l[-1:].t", ["two"]),
        (".l[*].t", ["one", "two"]),
        (".l[?(@.t=='two')].v", [5]),
        (".m[?(@.metadata.name=='aa')].v", [1]),
        (".m[?(@.ready=='true')].v", [2]),
        (".m[?(@.ready.deep=='true')].v", []),
        (".none.deep", []),
        (".l[9]", []),
    ],
)
def test_paths_lead_to_values(path: str, found: list[Any]) -> None:
    value = {
        "a": {"b": 1, "x-y": 2},
        "l": [{"t": "one"}, {"t": "two", "v": 5}],
        "m": [{"metadata": {"name": "aa"}, "v": 1}, {"ready": True, "v": 2}, "text"],
    }
    assert jsonpath.find(value, path) == found


@pytest.mark.parametrize("path", [".a[", ".a[?(@.b>1)]", ".a[(x)]"])
def test_a_path_outside_the_subset_is_rejected(path: str) -> None:
    with pytest.raises(jsonpath.PathError):
        jsonpath.parse(path)
