"""Helm as a user calls it on the project's chart, and the documents that it renders.

What it prints is kept for the report of a failure. Where Helm is missing the tests are skipped, and
the end of the run says so.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.command import output_of
from tests.support.controlplane.cluster import ControlPlane
from tests.support.controlplane.toolchain import Unavailable, provide
from tests.support.environments import Environment
from tests.support.operator_process import OperatorProcess
from tfjob.dialects.registry import DESCRIPTORS

Json = dict[str, Any]
CHART = Path(__file__).parents[2] / "charts" / "tfjob"
NAME = "tfjob-operator"
"""What release `tfjob` calls its Deployment and its ServiceAccount."""
EVERY_DIALECT = ",".join(f"dialects.{each.name}=true" for each in DESCRIPTORS)
"""The values of an operator that serves all kinds of jobs."""
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_HOOK = "helm.sh/hook"
_OF_THE_POD = (
    "--metrics-bind-address",
    "--health-probe-bind-address",
    "--controller-config-file",
)
"""Flags that name ports and folders of the pod."""


class Helm:
    """One Helm, that of a cluster where a kubeconfig is given."""

    def __init__(self, binary: Path, *, home: Path, kubeconfig: Path | None = None) -> None:
        self._binary = binary
        self._environment = {
            **{f"HELM_{name}_HOME": str(home / name) for name in ("CACHE", "CONFIG", "DATA")},
            "HOME": str(home),
            "KUBECONFIG": str(kubeconfig or home / "none"),
        }

    def __call__(self, *words: str, fails: bool = False) -> str:
        """The output of Helm; it must succeed, or fail if `fails` is set."""
        return output_of([self._binary, *words], env=self._environment, fails=fails)

    def render(
        self, *values: str, release: str = "tfjob", namespace: str = "kubeflow"
    ) -> "Rendered":
        """The chart's documents under some values, written as `--set` takes them."""
        words = ("template", release, str(CHART), "--namespace", namespace, *_sets(values))
        return Rendered(yaml.safe_load_all(self(*words)))

    def refusal(self, *values: str) -> str:
        """The message with which values are refused; fails if they are accepted."""
        return self("template", "tfjob", str(CHART), *_sets(values), fails=True)

    def install(self, *values: str, namespace: str, flags: Sequence[str] = ()) -> str:
        """Install release `tfjob`, or change it to exactly these values."""
        words = ("upgrade", "--install", "tfjob", str(CHART), "--namespace", namespace)
        return self(*words, *_sets(values), *flags)

    def uninstall(self, *, namespace: str) -> str:
        return self("uninstall", "tfjob", "--namespace", namespace, "--ignore-not-found")


class Rendered:
    """The documents of one rendering, found by kind and name."""

    def __init__(self, documents: Iterable[Json | None]) -> None:
        found = [each for each in documents if each]
        self.hooks = [each for each in found if _HOOK in each["metadata"].get("annotations", {})]
        """What Helm makes at a certain time only, such as for its test."""
        self.all = [each for each in found if each not in self.hooks]

    def kinds(self) -> set[str]:
        return {each["kind"] for each in self.all}

    def of(self, kind: str) -> list[Json]:
        return [each for each in self.all if each["kind"] == kind]

    def one(self, kind: str) -> Json:
        """The only document of a kind."""
        found = self.of(kind)
        assert len(found) == 1, f"{len(found)} of kind {kind}, not one"
        return found[0]

    def flags(self) -> list[str]:
        """The operator's flags."""
        return flags_of(self.one("Deployment"))


def flags_outside(flags: Iterable[str]) -> list[str]:
    """The flags without those that mean something in the pod alone."""
    return [each for each in flags if not each.startswith(_OF_THE_POD)]


def flags_of(deployment: Json) -> list[str]:
    """The flags that a Deployment gives to the operator."""
    flags: list[str] = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    return flags


def helm_at(folder: Path, plane: ControlPlane | None = None) -> Helm:
    """Helm with its own home folder; without a binary the test is skipped with a message."""
    try:
        binary = provide("helm")["helm"]
    except Unavailable as missing:
        pytest.skip(f"NO REAL CONTROL PLANE WITH HELM: {missing}")
    return Helm(binary, home=folder, kubeconfig=plane.kubeconfig if plane else None)


class ChartPlane(ControlPlane):
    """A control plane that gets its CRDs from the chart only."""

    def install_crds(self, crds: Iterable[object]) -> None:
        """Leave that to Helm."""


def started(plane: ChartPlane) -> ChartPlane:
    """The started plane; without binaries the test is skipped with a message."""
    try:
        return plane.start()
    except Unavailable as missing:
        pytest.skip(f"NO REAL CONTROL PLANE: {missing}")


def hand_over(plane: ControlPlane, *, namespace: str) -> None:
    """Let the release of a namespace own the CRDs that an earlier release left."""
    known = {each.definition["metadata"]["name"] for each in DESCRIPTORS}
    owner = {"release-name": "tfjob", "release-namespace": namespace}
    metadata = {
        "labels": {"app.kubernetes.io/managed-by": "Helm"},
        "annotations": {f"meta.helm.sh/{key}": value for key, value in owner.items()},
    }
    for each in plane.endpoint.request("GET", _CRDS)["items"]:
        name = each["metadata"]["name"]
        if name in known:
            plane.endpoint.request("PATCH", f"{_CRDS}/{name}", {"metadata": metadata})


def installed(plane: ControlPlane, *, namespace: str) -> Json:
    """The release's Deployment as the server has it."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{NAME}"
    found: Json = plane.endpoint.request("GET", path)
    return found


def operator_of(
    env: Environment, plane: ControlPlane, *, namespace: str, flags: Sequence[str] = ()
) -> OperatorProcess:
    """The operator as the release's Deployment starts it, with the token its pod would have."""
    return env.new_operator(
        *flags_outside(flags_of(installed(plane, namespace=namespace))),
        *flags,
        name=f"operator-{namespace}",
        kubeconfig=plane.kubeconfig_for(NAME, namespace=namespace),
        MY_POD_NAMESPACE=namespace,
    )


def _sets(values: Iterable[str]) -> list[str]:
    return [word for value in values for word in ("--set", value)]
