"""Every binary is pinned once, and its sources are vouched for."""

import pytest

from tests.support.controlplane.recipes import GO_MODULES, TOOLS, Tool


def test_versions_are_those_the_project_is_tested_with() -> None:
    versions = {name: tool.version for name, tool in TOOLS.items()}
    assert versions == {
        "etcd": "3.6.16",
        "kube-apiserver": "1.36.3",
        "kube-controller-manager": "1.36.3",
        "kube-scheduler": "1.36.3",
        "kubelet": "1.36.3",
        "kube-proxy": "1.36.3",
        "coredns": "1.15.0",
        "kubectl": "1.36.3",
        "kwok": "0.8.0",
        "helm": "3.22.0",
        "training-operator": "1.9.3",
        "vc-scheduler": "1.10.0",
        "sp-scheduler": "0.33.5",
        "kueue": "0.15.0",
    }


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS.keys())
def test_sources_have_a_checksum(tool: Tool) -> None:
    checksums = (tool.recipe / "go.sum").read_text()
    assert f"{tool.module} v{tool.version} h1:" in checksums


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS.keys())
def test_go_module_names_the_package_that_is_built(tool: Tool) -> None:
    if tool.is_copied:
        assert tool.package.startswith(f"{tool.module}/")
    else:
        assert tool.package in (tool.recipe / "go.mod").read_text()


def test_every_go_module_is_used() -> None:
    folders = {path.name for path in GO_MODULES.iterdir()}
    assert folders == {tool.folder for tool in TOOLS.values()}


def test_binary_is_built_with_its_version() -> None:
    assert "version.gitVersion=v1.36.3" in TOOLS["kubectl"].linker_flags


def test_module_without_a_version_is_named() -> None:
    stranger = Tool(name="stranger", folder="etcd", module="example.invalid/x", package="x")
    with pytest.raises(LookupError, match=r"go\.mod: no line matches .* stranger has no version"):
        stranger.version  # noqa: B018 - the property is what is tested
