"""Finds the binaries of a real control plane, or builds them once into the user's cache.

They are looked for in KUBEBUILDER_ASSETS, on PATH and in the cache, then built from pinned Go
modules. A binary enters the cache by one rename, so it is never incomplete. Unavailable means that
it cannot be had on this machine, BuildError that it should have been built and was not.
"""

import argparse
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.controlplane.recipes import TOOLS, OnPath, Tool

CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
_HEARTBEAT_SECONDS = 30
_POLITE = 10
_OUR_FAULT = ("SECURITY ERROR", "checksum mismatch", "go.sum", "updates to go.mod needed")


class Unavailable(Exception):  # noqa: N818 - an answer about the machine, not an error
    """The binary is not available on this machine; tests that need it are skipped and named."""


class BuildError(Exception):
    """The build of the binary failed. Tests that need it fail and are not skipped."""


class Toolchain:
    """Returns the path of a binary, and builds it if it is not found."""

    def __init__(
        self, environ: Mapping[str, str], *, say: Callable[[str], None] | None = None
    ) -> None:
        self._environ = environ
        self._say = say or _say_on_stderr
        self.cache = _cache_folder(environ)

    def find(self, name: str) -> Path | None:
        """Where the binary is already, if anywhere; builds nothing."""
        tool = TOOLS[name]
        places = (self._in_assets(tool), self._on_path(tool), self._in_cache(tool))
        if tool.on_path is not OnPath.WELCOME:
            places = (places[0], places[2], places[1])
        return next((place for place in places if place is not None), None)

    def provide(self, name: str) -> Path:
        """The binary's path, after a build if needed; raises Unavailable or BuildError."""
        return self.find(name) or self.build(name)

    def build(self, name: str) -> Path:
        """The binary of the pinned version, even if the machine has another."""
        tool = TOOLS[name]
        return self._in_cache(tool) or self._build(tool)

    def module_folder(self, name: str, folder: str) -> Path:
        """A folder of the tool's module, as its recipe lists it, beside the built binary."""
        return self.build(name).parent / folder

    def _home(self, tool: Tool) -> Path:
        return self.cache / f"{tool.name}-{tool.version}"

    def _in_assets(self, tool: Tool) -> Path | None:
        assets = self._environ.get("KUBEBUILDER_ASSETS")
        return _executable(Path(assets) / tool.name) if assets else None

    def _on_path(self, tool: Tool) -> Path | None:
        if tool.on_path is OnPath.IGNORED:
            return None
        found = shutil.which(tool.name, path=self._environ.get("PATH", os.defpath))
        return Path(found) if found else None

    def _in_cache(self, tool: Tool) -> Path | None:
        return _executable(self._home(tool) / tool.name)

    def _build(self, tool: Tool) -> Path:
        go = shutil.which("go", path=self._environ.get("PATH", os.defpath))
        if go is None:
            raise Unavailable(self._missing(tool, "Go is not installed to build it"))
        with self._only_builder():
            return self._in_cache(tool) or self._build_with(go, tool)

    def _build_with(self, go: str, tool: Tool) -> Path:
        started = time.monotonic()
        self._say(f"building {tool.name} {tool.version} from Go modules, once, for {self.cache}")
        if not tool.is_copied:
            self._fetch_sources(go, tool)
        staging = self.cache / f".{tool.name}.{os.getpid()}"
        shutil.rmtree(staging, ignore_errors=True)
        try:
            if tool.is_copied:
                self._compile_copy(go, tool, staging)
            else:
                self._compile(go, tool, staging / tool.name)
                self._copy_extras(go, tool, staging)
            home = self._home(tool)
            shutil.rmtree(home, ignore_errors=True)
            staging.rename(home)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        self._say(f"built {tool.name} {tool.version} in {time.monotonic() - started:.0f} s")
        return home / tool.name

    def _fetch_sources(self, go: str, tool: Tool) -> None:
        done = self._run(tool, (go, "list", "-deps", tool.package))
        if done.returncode == 0:
            return
        if any(sign in done.stdout for sign in _OUR_FAULT):
            raise BuildError(f"{tool.recipe}: Go refuses its sources: {_tail(done.stdout)}")
        raise Unavailable(self._missing(tool, f"its sources did not come: {_tail(done.stdout)}"))

    def _compile(self, go: str, tool: Tool, target: Path) -> None:
        command = (go, "build", "-mod=readonly", "-trimpath")
        flags = ("-ldflags", tool.linker_flags, "-o", str(target))
        done = self._run(tool, (*command, *flags, tool.package))
        if done.returncode != 0:
            raise BuildError(f"{tool.recipe}: {tool.name} does not build: {_tail(done.stdout)}")

    def _compile_copy(self, go: str, tool: Tool, staging: Path) -> None:
        """Compile in a copy of the module's sources, of which go.sum has the checksum."""
        staging.mkdir(parents=True)
        wanted = f"{tool.module}@v{tool.version}"
        done = self._run(tool, (go, "mod", "download", "-json", wanted), folder=staging)
        try:
            found = json.loads(done.stdout[done.stdout.index("{") :])
            sources, checksum = Path(found["Dir"]), found["Sum"]
        except (ValueError, KeyError):
            missing = f"its sources did not come: {_tail(done.stdout)}"
            raise Unavailable(self._missing(tool, missing)) from None
        if checksum != tool.checksum:
            raise BuildError(f"{tool.recipe}: {wanted} has checksum {checksum}, not the one there")
        copy = staging / "sources"
        # The module cache is read-only; copying contents alone leaves what can be removed.
        shutil.copytree(sources, copy, copy_function=shutil.copyfile)
        for folder in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
            folder.chmod(0o755)
        command = (go, "build", "-mod=mod", "-trimpath", "-ldflags", tool.linker_flags)
        target = ("-o", str(staging / tool.name), tool.package)
        done = self._run(tool, (*command, *target), folder=copy)
        if done.returncode != 0:
            raise BuildError(f"{tool.recipe}: {tool.name} does not build: {_tail(done.stdout)}")
        for source, place in tool.extras:
            shutil.copytree(copy / source, staging / place)
        shutil.rmtree(copy)

    def _copy_extras(self, go: str, tool: Tool, staging: Path) -> None:
        for source, target in tool.extras:
            done = self._run(tool, (go, "list", "-m", "-f", "{{.Dir}}", tool.module))
            if done.returncode != 0:
                raise BuildError(f"{tool.recipe}: {tool.module}: {_tail(done.stdout)}")
            files = Path(done.stdout.strip()) / source
            # The module cache is read-only; copying contents alone leaves what can be removed.
            shutil.copytree(files, staging / target, copy_function=shutil.copyfile)
            (staging / target).chmod(0o755)

    def _run(
        self, tool: Tool, command: Sequence[str], *, folder: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        process = subprocess.Popen(
            command,
            cwd=folder or tool.recipe,
            env={**self._environ, **_go_settings()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        os.setpriority(os.PRIO_PROCESS, process.pid, _POLITE)
        output = self._wait(process, f"{tool.name}: go {command[1]}")
        return subprocess.CompletedProcess(command, process.returncode, stdout=output)

    def _wait(self, process: subprocess.Popen[str], work: str) -> str:
        waited = 0
        try:
            while True:
                try:
                    return process.communicate(timeout=_HEARTBEAT_SECONDS)[0]
                except subprocess.TimeoutExpired:
                    waited += _HEARTBEAT_SECONDS
                    self._say(f"{work}: still at work after {waited} s")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    @contextmanager
    def _only_builder(self) -> Iterator[None]:
        self.cache.mkdir(parents=True, exist_ok=True)
        with (self.cache / "build.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._say(f"waiting for the process that builds into {self.cache}")
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _missing(self, tool: Tool, why: str) -> str:
        return (
            f"NO {tool.name} {tool.version}: not in KUBEBUILDER_ASSETS, not on PATH, not in "
            f"{self.cache}, and {why}. What needs it is SKIPPED. "
            f"To have it: install Go {tool.go_version} or newer, or set KUBEBUILDER_ASSETS."
        )


def provide(*names: str) -> dict[str, Path]:
    """The paths of several binaries on this machine, by name."""
    toolchain = Toolchain(os.environ)
    return {name: toolchain.provide(name) for name in names}


def _go_settings() -> dict[str, str]:
    return {
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }


def _cache_folder(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tfjob" / "bin"


def _executable(path: Path) -> Path | None:
    return path if path.is_file() and os.access(path, os.X_OK) else None


def _tail(output: str) -> str:
    lines = [line for line in output.splitlines() if not line.startswith("go: downloading")]
    return " | ".join(lines[-5:]) or "no output"


def _say_on_stderr(line: str) -> None:
    print(f"[toolchain] {line}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one path per named binary; without names, those of a control plane."""
    parser = argparse.ArgumentParser(prog="toolchain", description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TOOLS))
    parser.add_argument("--build", action="store_true", help="ours, even if PATH has one")
    wishes = parser.parse_args(arguments)
    names = wishes.names or CONTROL_PLANE
    unknown = [name for name in names if name not in TOOLS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(TOOLS)}")
    try:
        toolchain = Toolchain(os.environ)
        for name in names:
            print(toolchain.build(name) if wishes.build else toolchain.provide(name), flush=True)
    except (Unavailable, BuildError) as fault:
        _say_on_stderr(str(fault))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
