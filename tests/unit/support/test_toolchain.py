"""Binaries are found where they are, and built once where they are not."""

import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.controlplane.recipes import TOOLS
from tests.support.controlplane.toolchain import BuildError, Toolchain, Unavailable, main

# Plays the Go command: compiles to a file that shows how it was called, or fails as told.
_FAKE_GO = """#!{python}
import os, pathlib, sys
folder = pathlib.Path({folder!r})
for failing in folder.glob("fail-" + sys.argv[1]):
    print(failing.read_text())
    sys.exit(1)
if sys.argv[1:3] == ["list", "-m"]:
    print(folder / "module")
if sys.argv[1:3] == ["mod", "download"]:
    print((folder / "download").read_text())
if sys.argv[1] == "build":
    with (folder / "builds").open("a") as log:
        log.write(sys.argv[-1] + "\\n")
    target = pathlib.Path(sys.argv[sys.argv.index("-o") + 1])
    target.parent.mkdir(parents=True, exist_ok=True)
    names = ("CGO_ENABLED", "GOFLAGS", "GOTOOLCHAIN", "GOWORK")
    target.write_text(" ".join(name + "=" + os.environ[name] for name in names))
    target.chmod(0o755)
"""


class Machine:
    """A machine with an empty cache, and a PATH of one folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "path"
        self.assets = folder / "assets"
        self.go = folder / "go"
        for place in (self.path, self.assets, self.go):
            place.mkdir()
        self.environ = {
            "PATH": str(self.path),
            "KUBEBUILDER_ASSETS": str(self.assets),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "HOME": str(folder),
        }
        self.said: list[str] = []

    def toolchain(self) -> Toolchain:
        return Toolchain(self.environ, say=self.said.append)

    def put(self, place: Path, name: str, text: str = "") -> Path:
        path = place / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def install_go(self) -> None:
        self.put(self.path, "go", _FAKE_GO.format(python=sys.executable, folder=str(self.go)))

    def builds(self) -> list[str]:
        log = self.go / "builds"
        return log.read_text().split() if log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def go_machine(machine: Machine) -> Machine:
    machine.install_go()
    return machine


def test_assets_folder_comes_before_path(machine: Machine) -> None:
    machine.put(machine.path, "etcd")
    asset = machine.put(machine.assets, "etcd")
    assert machine.toolchain().provide("etcd") == asset


def test_file_that_cannot_be_executed_is_passed_over(machine: Machine) -> None:
    machine.put(machine.assets, "etcd").chmod(0o644)
    on_path = machine.put(machine.path, "etcd")
    assert machine.toolchain().provide("etcd") == on_path


def test_control_plane_on_path_is_as_good_as_a_built_one(go_machine: Machine) -> None:
    go_machine.toolchain().build("etcd")
    on_path = go_machine.put(go_machine.path, "etcd")
    assert go_machine.toolchain().find("etcd") == on_path


def test_kubectl_on_path_gives_way_to_a_built_one(go_machine: Machine) -> None:
    on_path = go_machine.put(go_machine.path, "kubectl")
    assert go_machine.toolchain().provide("kubectl") == on_path
    built = go_machine.toolchain().build("kubectl")
    assert go_machine.toolchain().provide("kubectl") == built


def test_only_the_pinned_training_operator_will_do(machine: Machine) -> None:
    machine.put(machine.path, "training-operator")
    assert machine.toolchain().find("training-operator") is None


def test_machine_without_go_gets_a_message_with_what_is_skipped_and_a_remedy(
    machine: Machine,
) -> None:
    with pytest.raises(Unavailable) as missing:
        machine.toolchain().provide("kube-apiserver")
    line = str(missing.value)
    assert line.startswith("NO kube-apiserver 1.36.3")
    assert "Go is not installed" in line
    assert "SKIPPED" in line
    assert "install Go 1.26.0 or newer, or set KUBEBUILDER_ASSETS" in line
    assert "\n" not in line


def test_built_binary_is_in_the_cache_and_is_not_built_again(go_machine: Machine) -> None:
    built = go_machine.toolchain().provide("etcd")
    assert built == go_machine.toolchain().cache / "etcd-3.6.16" / "etcd"
    assert go_machine.toolchain().provide("etcd") == built
    assert go_machine.builds() == ["go.etcd.io/etcd/server/v3"]
    assert go_machine.said[0].startswith("building etcd 3.6.16 from Go modules")


def test_build_may_neither_change_go_mod_nor_fetch_another_go(go_machine: Machine) -> None:
    built = go_machine.toolchain().provide("etcd")
    flags = "-mod=readonly -trimpath -buildvcs=false"
    assert built.read_text() == f"CGO_ENABLED=0 GOFLAGS={flags} GOTOOLCHAIN=local GOWORK=off"


def test_those_who_ask_at_the_same_time_get_one_build(go_machine: Machine) -> None:
    def ask(_: int) -> Path:
        return go_machine.toolchain().provide("etcd")

    with ThreadPoolExecutor(4) as pool:
        paths = set(pool.map(ask, range(4)))
    assert len(paths) == 1
    assert len(go_machine.builds()) == 1


def test_folder_of_the_module_comes_with_the_binary(go_machine: Machine) -> None:
    crds = go_machine.go / "module" / "manifests" / "base" / "crds"
    crds.mkdir(parents=True)
    (crds / "tfjobs.yaml").write_text("kind: CustomResourceDefinition")
    copied = go_machine.toolchain().module_folder("training-operator", "crds")
    assert (copied / "tfjobs.yaml").read_text() == "kind: CustomResourceDefinition"


@pytest.mark.parametrize(
    ("command", "output", "fault"),
    [
        ("list", "dial tcp: no such host", Unavailable),
        ("list", "go.mod requires go >= 1.26.0 (running go 1.22.0)", Unavailable),
        ("list", "verifying module: checksum mismatch", BuildError),
        ("list", "missing go.sum entry for module", BuildError),
        ("build", "main.go:1: syntax error", BuildError),
    ],
)
def test_failed_build_tells_absence_from_fault_and_leaves_nothing(
    go_machine: Machine, command: str, output: str, fault: type[Exception]
) -> None:
    (go_machine.go / f"fail-{command}").write_text(output)
    with pytest.raises(fault) as raised:
        go_machine.toolchain().provide("etcd")
    assert output in str(raised.value)
    left = {path.name for path in go_machine.toolchain().cache.iterdir()}
    assert left == {"build.lock"}


@pytest.fixture
def set_environ(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def apply() -> None:
        for name, value in machine.environ.items():
            monkeypatch.setenv(name, value)

    return apply


def test_command_prints_paths(
    machine: Machine, set_environ: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    set_environ()
    paths = [machine.put(machine.assets, name) for name in ("etcd", "kwok")]
    assert main(["etcd", "kwok"]) == 0
    assert capsys.readouterr().out.split() == [str(path) for path in paths]


def test_command_builds_the_local_server_on_request(
    go_machine: Machine, set_environ: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    set_environ()
    go_machine.put(go_machine.path, "kubectl")
    assert main(["--build", "kubectl"]) == 0
    assert capsys.readouterr().out.strip().endswith("kubectl-1.36.3/kubectl")


def test_command_fails_with_the_reason(
    machine: Machine, set_environ: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    set_environ()
    assert main([]) == 1
    assert "NO etcd 3.6.16" in capsys.readouterr().err


def test_command_rejects_a_name_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["kubelet"])
    assert "unknown: kubelet; known: etcd" in capsys.readouterr().err


def downloaded(machine: Machine, *, checksum: str) -> Path:
    """A module with CRDs in the read-only module cache, as the Go command tells of it."""
    sources = machine.go / "sources"
    (sources / "config" / "crd" / "volcano" / "bases").mkdir(parents=True)
    (sources / "config" / "crd" / "volcano" / "bases" / "x.yaml").write_text("kind: X")
    answer = json.dumps({"Dir": str(sources), "Sum": checksum})
    (machine.go / "download").write_text(f"go: downloading it\n{answer}")
    return sources


def test_module_with_replace_lines_is_built_in_a_copy(go_machine: Machine) -> None:
    downloaded(go_machine, checksum=TOOLS["vc-scheduler"].checksum)
    built = go_machine.toolchain().provide("vc-scheduler")
    assert built == go_machine.toolchain().cache / "vc-scheduler-1.10.0" / "vc-scheduler"
    assert (built.parent / "crds" / "x.yaml").read_text() == "kind: X"
    assert sorted(path.name for path in built.parent.iterdir()) == ["crds", "vc-scheduler"]


def test_module_with_another_checksum_is_refused(go_machine: Machine) -> None:
    downloaded(go_machine, checksum="h1:other")
    with pytest.raises(BuildError, match="has checksum h1:other"):
        go_machine.toolchain().provide("vc-scheduler")
    assert go_machine.builds() == []


def test_module_that_cannot_be_had_is_unavailable(go_machine: Machine) -> None:
    (go_machine.go / "download").write_text('{"Error": "403 Forbidden"}')
    with pytest.raises(Unavailable, match=r"NO vc-scheduler 1\.10\.0.*SKIPPED"):
        go_machine.toolchain().provide("vc-scheduler")
