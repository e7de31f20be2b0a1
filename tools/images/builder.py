"""Builds images from Dockerfiles with an overlay mount and chroot instead of a daemon.

Each step is kept under the hash of everything that it depends on, so an unchanged step is never
repeated. Steps run as root in their own mount and process namespace, which end with them.
"""

import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tools.images.dockerfile import Instruction, Stage, expand, parse
from tools.images.layer import layer_of, pack
from tools.images.oci import Image

SCRATCH = "scratch"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_FROM_THE_HOST = ("/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt")
_PASSED_ON = ("http_proxy", "https_proxy", "no_proxy", "pip_index_url", "pip_cert")
_IGNORED = shutil.ignore_patterns("__pycache__")


class ImageError(Exception):
    """An image was not built; names the instruction and shows the end of its output."""


@dataclass(frozen=True)
class _State:
    """A stage after some of its instructions."""

    key: str = ""
    steps: tuple[Path, ...] = ()
    """The folders of its layers, the lowest first."""
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.settings.get("Env", ()))

    def with_setting(self, name: str, value: object) -> "_State":
        return replace(self, settings={**self.settings, name: value})


class Builder:
    """Builds images into one store; `bases` gives the folder of a base image by its name."""

    def __init__(
        self,
        store: Path,
        *,
        context: Path,
        bases: Callable[[str], Path],
        folders: Mapping[str, Path] | None = None,
        say: Callable[[str], None],
    ) -> None:
        """`folders` are what `COPY --from=name` can name beside the stages."""
        self._store = store
        self._context = context
        self._bases = bases
        self._folders = folders or {}
        self._say = say
        self._stages: dict[str, _State] = {}

    def build(
        self, dockerfile: Path, name: str, *, target: str = "", arguments: Mapping[str, str]
    ) -> Image:
        """The image of a stage, by default of the last one."""
        stages = parse(dockerfile.read_text(), arguments)
        wanted = target or stages[-1].name
        self._stages = {}
        for stage in stages:
            if stage.name == wanted or _is_copied(stage, stages):
                self._stages[stage.name] = self._built(stage)
            if stage.name == wanted:
                break
        state = self._stages[wanted]
        layers = tuple(layer_of(step / "layer.tar") for step in state.steps)
        return Image(name, layers, state.settings)

    def _built(self, stage: Stage) -> _State:
        state = self._base(stage.base)
        for instruction in stage.instructions:
            state = self._after(state, instruction)
        return state

    def _base(self, name: str) -> _State:
        if name in self._stages:
            return self._stages[name]
        state = _State(settings={"Env": [f"PATH={_PATH}"], "WorkingDir": "/"})
        if name == SCRATCH:
            return state
        step = self._bases(name)
        return replace(state, key=step.name, steps=(step,))

    def _after(self, state: _State, instruction: Instruction) -> _State:
        name = instruction.name
        if name in ("RUN", "COPY"):
            return self._with_step(state, instruction)
        if name == "ENV":
            added = dict(
                word.split("=", 1)
                for word in shlex.split(expand(instruction.text, state.environment))
            )
            lines = [f"{key}={value}" for key, value in {**state.environment, **added}.items()]
            return state.with_setting("Env", lines)
        if name == "EXPOSE":
            ports: dict[str, object] = {f"{port}/tcp": {} for port in instruction.words()}
            return state.with_setting("ExposedPorts", ports)
        if name == "ENTRYPOINT":
            return state.with_setting("Entrypoint", instruction.words())
        if name == "CMD":
            return state.with_setting("Cmd", instruction.words())
        setting = {"USER": "User", "WORKDIR": "WorkingDir"}[name]
        return state.with_setting(setting, instruction.text)

    def _with_step(self, state: _State, instruction: Instruction) -> _State:
        key = self._key(state, instruction)
        step = self._store / key
        if not (step / "layer.tar").exists():
            self._say(f"{instruction.name} {instruction.text[:60]}")
            shutil.rmtree(step, ignore_errors=True)
            (step / "files").mkdir(parents=True)
            self._carry_out(state, instruction, step / "files")
            pack(step / "files", step / "layer.tar")
        return replace(state, key=key, steps=(*state.steps, step))

    def _key(self, state: _State, instruction: Instruction) -> str:
        parts = [state.key, str(sorted(state.environment.items())), state.settings["WorkingDir"]]
        parts += [instruction.name, instruction.text]
        if instruction.name == "COPY":
            origin, sources, _ = _copy_words(instruction)
            if origin in self._stages:
                parts.append(self._stages[origin].key)
            else:
                folder = self._folder(origin)
                parts += [hash_of(folder / source) for source in sources]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]

    def _carry_out(self, state: _State, instruction: Instruction, files: Path) -> None:
        if instruction.name == "RUN":
            self._run(state, instruction.text, files)
            return
        origin, sources, target = _copy_words(instruction)
        place = files / state.settings["WorkingDir"].strip("/") / target
        if target.startswith("/"):
            place = files / target.strip("/")
        many = target.endswith("/") or target == "." or len(sources) > 1
        for source in sources:
            goal = place / Path(source).name if many else place
            goal.parent.mkdir(parents=True, exist_ok=True)
            if origin in self._stages:
                lower = self._stages[origin].steps
                self._in_overlay(lower, files, f"cp -a $root{shlex.quote(source)} {goal}")
            else:
                _copy(self._folder(origin) / source, goal)

    def _folder(self, origin: str) -> Path:
        return self._folders[origin] if origin else self._context

    def _run(self, state: _State, command: str, files: Path) -> None:
        passed = {key: os.environ[key] for key in os.environ if key.lower() in _PASSED_ON}
        values = {"HOME": "/root", **passed, **state.environment}
        environment = [f"{key}={value}" for key, value in values.items()]
        folder = shlex.quote(state.settings["WorkingDir"])
        inside = ("/bin/sh", "-ec", f"cd {folder}; {command}")
        words = shlex.join(["env", "-i", *environment, "chroot"])
        mounts = [
            f"mkdir -p $root{folder}",
            "mount -t proc proc $root/proc",
            "mount --rbind /dev $root/dev",
            *(f"mount --bind {path} $root{path}" for path in _FROM_THE_HOST if Path(path).exists()),
        ]
        script = "\n".join((*mounts, f"exec {words} $root {shlex.join(inside)}"))
        self._in_overlay(state.steps, files, script)

    def _in_overlay(self, steps: tuple[Path, ...], files: Path, script: str) -> None:
        """Run a script that sees the merged steps as $root; its changes go to `files`."""
        work, root = files.parent / "work", files.parent / "root"
        for each in (work, root):
            each.mkdir(exist_ok=True)
        lower = ":".join(str(step / "files") for step in reversed(steps))
        is_read = script.startswith("cp ")
        upper = "" if is_read else f",upperdir={files},workdir={work}"
        # Without an upper folder an overlay needs two lower ones.
        options = f"lowerdir={lower}{f':{work}' if is_read else ''}{upper}"
        mount = f"root={root}\nmount -t overlay overlay -o {options} $root\n"
        command = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec")
        done = subprocess.run(
            [*command, mount + script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        for each in (work, root):
            shutil.rmtree(each, ignore_errors=True)
        if done.returncode != 0:
            tail = "\n".join(done.stdout.splitlines()[-15:])
            raise ImageError(f"{script.splitlines()[-1]}: exit code {done.returncode}\n{tail}")


def hash_of(path: Path) -> str:
    """The hash of a file, or of the names and contents of all files in a folder."""
    found = hashlib.sha256()
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    if not path.exists():
        raise ImageError(f"{path}: there is no such file to copy into an image")
    for each in files:
        if each.is_file() and "__pycache__" not in each.parts:
            found.update(f"{each.relative_to(path)} {each.stat().st_mode & 0o111} ".encode())
            with each.open("rb") as content:
                found.update(hashlib.file_digest(content, "sha256").digest())
    return found.hexdigest()


def _is_copied(stage: Stage, stages: list[Stage]) -> bool:
    words = {word for each in stages for step in each.instructions for word in step.text.split()}
    return f"--from={stage.name}" in words or any(each.base == stage.name for each in stages)


def _copy_words(instruction: Instruction) -> tuple[str, list[str], str]:
    words = instruction.words()
    origin = ""
    if words[0].startswith("--from="):
        origin = words.pop(0).partition("=")[2]
    return origin, words[:-1], words[-1]


def _copy(source: Path, goal: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, goal, ignore=_IGNORED, dirs_exist_ok=True)
    else:
        shutil.copy2(source, goal)
