"""The public face of the package is exactly this list."""

import importlib.metadata

import tfjob

PUBLIC = ["__version__"]


def test_the_public_names_are_these() -> None:
    assert sorted(tfjob.__all__) == PUBLIC


def test_every_public_name_exists() -> None:
    assert [name for name in PUBLIC if not hasattr(tfjob, name)] == []


def test_the_installed_version_is_the_one_of_the_source() -> None:
    assert importlib.metadata.version("tfjob") == tfjob.__version__
