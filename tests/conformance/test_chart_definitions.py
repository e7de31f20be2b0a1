"""The CRDs of the chart on a real API server: upgraded, kept, and handed over."""

import shutil
from pathlib import Path

import pytest

from tests.support.environments import Environment
from tests.support.helm import CHART, EVERY_DIALECT, ChartPlane, Helm
from tests.support.permissive_crd import permissive
from tests.support.tfjobs import tfjob
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.dialects.registry import DESCRIPTORS

# The seconds bind what hangs: a busy machine, on which all is slow, is no fault of the chart.
pytestmark = pytest.mark.timeout(180, func_only=True)

_ALL = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_OURS = f"{_ALL}/tfjobs.kubeflow.org"
_PAGE = (CHART.parents[1] / "docs" / "install.md").read_text("utf-8")


def names(plane: ChartPlane) -> set[str]:
    return {each["metadata"]["name"] for each in plane.endpoint.request("GET", _ALL)["items"]}


def test_upgrade_brings_the_definitions_up_to_date(
    plane: ChartPlane, helm: Helm, home: str, chart_env: Environment
) -> None:
    helm.install(namespace=home)
    ours = plane.endpoint.request("GET", _OURS)["spec"]["versions"]
    chart_env.replace_crd(permissive(KubeflowV1().crd()))
    assert plane.endpoint.request("GET", _OURS)["spec"]["versions"] != ours
    helm.install("replicas=2", namespace=home)
    assert plane.endpoint.request("GET", _OURS)["spec"]["versions"] == ours


def test_definitions_stay_when_their_api_is_switched_off_and_when_the_release_goes(
    plane: ChartPlane, helm: Helm, home: str
) -> None:
    every = {each.definition["metadata"]["name"] for each in DESCRIPTORS}
    helm.install(EVERY_DIALECT, namespace=home)
    assert names(plane) == every
    helm.install(namespace=home)
    assert names(plane) == every
    helm.uninstall(namespace=home)
    assert names(plane) == every


def test_release_whose_chart_had_a_folder_of_definitions_is_upgraded_as_the_page_says(
    plane: ChartPlane, helm: Helm, home: str, chart_env: Environment, tmp_path: Path
) -> None:
    for each in names(plane):
        plane.endpoint.request("DELETE", f"{_ALL}/{each}")
    plane.wait("end of the definitions", lambda: not names(plane))
    older = _older_chart(tmp_path / "tfjob")
    helm("install", "tfjob", str(older), "--namespace", home)
    made = plane.endpoint.request(
        "POST", f"/apis/kubeflow.org/v1/namespaces/{home}/tfjobs", tfjob("W1")
    )
    upgrade = ("upgrade", "tfjob", str(CHART), "--namespace", home, "--reset-then-reuse-values")
    assert "invalid ownership metadata" in helm(*upgrade, fails=True)
    for command in _handing_over(home):
        chart_env.kubectl(*command)
    helm(*upgrade)
    metadata = plane.endpoint.request("GET", _OURS)["metadata"]
    assert metadata["annotations"]["helm.sh/resource-policy"] == "keep"
    path = f"/apis/kubeflow.org/v1/namespaces/{home}/tfjobs/{made['metadata']['name']}"
    assert plane.endpoint.request("GET", path)["metadata"]["uid"] == made["metadata"]["uid"]


def test_short_names_reach_each_api_beside_the_others(
    helm: Helm, home: str, chart_env: Environment
) -> None:
    helm.install(EVERY_DIALECT, namespace=home)
    shown = chart_env.kubectl("api-resources", "--no-headers", "--output=wide")
    found = {line.split()[1]: line.split()[0] for line in shown.splitlines()}
    for each in DESCRIPTORS:
        assert found[each.stored.short_name] == each.stored.plural
        said = chart_env.kubectl("get", each.stored.short_name, "--output=name")
        assert "doesn't have a resource type" not in said


def _older_chart(folder: Path) -> Path:
    """The chart with its definitions where Helm makes them once and never looks at them again."""
    shutil.copytree(CHART, folder)
    shutil.copytree(folder / "files" / "crds", folder / "crds")
    (folder / "templates" / "crds.yaml").unlink()
    return folder


def _handing_over(namespace: str) -> list[list[str]]:
    """The first commands of the page that give a definition to a release, for this namespace."""
    lines = _PAGE.replace("\\\n", "").splitlines()
    verbs = ("kubectl label crd", "kubectl annotate crd")
    label, annotate, *_ = [line.split()[1:] for line in lines if line.strip().startswith(verbs)]
    assert (label[0], annotate[0]) == ("label", "annotate")
    own = [word.replace("namespace=kubeflow", f"namespace={namespace}") for word in annotate]
    return [label, own]
