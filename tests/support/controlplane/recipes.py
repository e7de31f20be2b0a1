"""What tests can build from Go modules: one row per binary, one go.mod per module.

go.mod is the only place that names a version, and go.sum verifies every download.
"""

import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

GO_MODULES = Path(__file__).parent / "go"


class OnPath(Enum):
    """When a binary of the same name on PATH is used."""

    WELCOME = "as good as ours"
    IF_NOT_BUILT = "ours is preferred once it is built"
    IGNORED = "only the pinned version will do"


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One binary: its recipe, what is compiled, and what else of the module it needs."""

    name: str
    folder: str
    module: str
    package: str
    stamps: tuple[str, ...] = ()
    extras: tuple[tuple[str, str], ...] = ()
    on_path: OnPath = OnPath.WELCOME
    is_copied: bool = False
    """Built as a main module, in a copy of its sources, because its go.mod has replace lines."""

    @property
    def recipe(self) -> Path:
        """The folder that holds go.mod and go.sum."""
        return GO_MODULES / self.folder

    @property
    def version(self) -> str:
        """The pinned version, without the leading v."""
        return _search(self, rf"^(?:require )?\s*{re.escape(self.module)} v(\S+)")

    @property
    def go_version(self) -> str:
        """The oldest Go that accepts the recipe."""
        return _search(self, r"^go (\S+)")

    @property
    def checksum(self) -> str:
        """The checksum of the module's sources, as go.sum has it."""
        lines = (line.split() for line in (self.recipe / "go.sum").read_text().splitlines())
        return next(sum_ for name, version, sum_ in lines if (name, version) == self._key)

    @property
    def _key(self) -> tuple[str, str]:
        return self.module, f"v{self.version}"

    @property
    def linker_flags(self) -> str:
        """Strip symbols; tell the binary its version, which a release build would know from git."""
        stamps = (f"-X {stamp.format(version=self.version)}" for stamp in self.stamps)
        return " ".join(("-s -w", *stamps))


def _search(tool: Tool, pattern: str) -> str:
    source = tool.recipe / "go.mod"
    found = re.search(pattern, source.read_text(), re.MULTILINE)
    if found is None:
        raise LookupError(f"{source}: no line matches {pattern!r}, so {tool.name} has no version")
    return found[1]


def _kubernetes(name: str, *, on_path: OnPath = OnPath.WELCOME) -> Tool:
    return Tool(
        name=name,
        folder="kubernetes",
        module="k8s.io/kubernetes",
        package=f"k8s.io/kubernetes/cmd/{name}",
        stamps=(
            "k8s.io/component-base/version.gitVersion=v{version}",
            "k8s.io/client-go/pkg/version.gitVersion=v{version}",
        ),
        on_path=on_path,
    )


def _copied(name: str, folder: str, module: str, *, package: str, crds: str) -> Tool:
    return Tool(
        name=name,
        folder=folder,
        module=module,
        package=package,
        extras=((crds, "crds"),),
        on_path=OnPath.IGNORED,
        is_copied=True,
    )


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            name="etcd",
            folder="etcd",
            module="go.etcd.io/etcd/server/v3",
            package="go.etcd.io/etcd/server/v3",
        ),
        _kubernetes("kube-apiserver"),
        _kubernetes("kube-controller-manager"),
        _kubernetes("kube-scheduler"),
        _kubernetes("kubelet"),
        _kubernetes("kube-proxy"),
        _kubernetes("kubectl", on_path=OnPath.IF_NOT_BUILT),
        Tool(
            name="coredns",
            folder="coredns",
            module="github.com/coredns/coredns",
            package=".",
        ),
        Tool(
            name="kwok",
            folder="kwok",
            module="sigs.k8s.io/kwok",
            package="sigs.k8s.io/kwok/cmd/kwok",
        ),
        Tool(
            name="helm",
            folder="helm",
            module="helm.sh/helm/v3",
            package="helm.sh/helm/v3/cmd/helm",
            stamps=(
                "helm.sh/helm/v3/internal/version.version=v{version}",
                "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=37",
                "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor=37",
            ),
            on_path=OnPath.IF_NOT_BUILT,
        ),
        Tool(
            name="training-operator",
            folder="training-operator",
            module="github.com/kubeflow/training-operator",
            package="github.com/kubeflow/training-operator/cmd/training-operator.v1",
            extras=(("manifests/base/crds", "crds"), ("manifests", "manifests")),
            on_path=OnPath.IGNORED,
        ),
        _copied(
            "vc-scheduler",
            "volcano",
            "volcano.sh/volcano",
            package="volcano.sh/volcano/cmd/scheduler",
            crds="config/crd/volcano/bases",
        ),
        _copied(
            "sp-scheduler",
            "scheduler-plugins",
            "sigs.k8s.io/scheduler-plugins",
            package="sigs.k8s.io/scheduler-plugins/cmd/scheduler",
            crds="config/crd/bases",
        ),
        _copied(
            "kueue",
            "kueue",
            "sigs.k8s.io/kueue",
            package="sigs.k8s.io/kueue/cmd/kueue",
            crds="config/components",
        ),
    )
}
