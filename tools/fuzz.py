"""Fuzzes code that parses untrusted bytes: `python -m tools.fuzz [--seconds 60] [NAME…]`.

A target may accept its input or reject it with the errors it documents; anything else is a
finding. atheris generates the input guided by coverage, so requirements/fuzz.txt must be installed.
Useful inputs are kept in .fuzz/ as a starting point for the next run.
"""

import argparse
import importlib
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(".fuzz")
LONGEST: Final = 4096
"""Largest input in bytes; problems that need larger ones are left to the tests."""

Target = Callable[[bytes], object]


def _watch() -> Target:
    from tfjob.client.errors import ApiError  # noqa: PLC0415 - imported under instrumentation
    from tfjob.client.watch_codec import LineBuffer, LineDecoder, MalformedLine  # noqa: PLC0415
    from tfjob.controller.job_object import JobObject  # noqa: PLC0415
    from tfjob.k8s.pod import Pod  # noqa: PLC0415

    decoders: list[LineDecoder[Any]] = [LineDecoder(JobObject), LineDecoder(Pod)]

    def run(data: bytes) -> None:
        buffer, cut = LineBuffer(), len(data) // 2
        for line in (*buffer.feed(data[:cut]), *buffer.feed(data[cut:] + b"\n")):
            for each in decoders:
                with suppress(MalformedLine, ApiError):
                    each.line(line)

    return run


def _http() -> Target:
    from tfjob.client.connection import ResponseReader  # noqa: PLC0415

    def run(data: bytes) -> None:
        reader, cut = ResponseReader(), len(data) // 3
        with suppress(ValueError):
            for each in (data[:cut], data[cut:]):
                if reader.feed(each) is not None:
                    return
            reader.end()

    return run


def _kubeconfig() -> Target:
    from tfjob.client.credentials import ConfigError  # noqa: PLC0415
    from tfjob.client.kubeconfig import read  # noqa: PLC0415

    file = FOLDER / "kubeconfig.input"

    def run(data: bytes) -> None:
        file.write_bytes(data)
        with suppress(ConfigError):
            read(file)

    return run


def _documents() -> Target:
    from tfjob.sdk.documents import DocumentError, read  # noqa: PLC0415

    file = FOLDER / "documents.input"

    def run(data: bytes) -> None:
        file.write_bytes(data)
        with suppress(DocumentError):
            read(str(file))

    return run


def _cel() -> Target:
    from tfjob.k8s.cel import compile_rule  # noqa: PLC0415
    from tfjob.k8s.cel_functions import EvaluationError  # noqa: PLC0415
    from tfjob.k8s.cel_syntax import CelError  # noqa: PLC0415

    env = {"self": {"a": 1, "b": [1, 2], "c": "text", "d": {"e": None}}}

    def run(data: bytes) -> None:
        with suppress(CelError, EvaluationError):
            compile_rule(data.decode("utf-8", "replace"), variables=frozenset(env))(env)

    return run


def _schema() -> Target:
    from tfjob.dialects.base import Settings  # noqa: PLC0415
    from tfjob.dialects.kubeflow.v1 import KubeflowV1  # noqa: PLC0415
    from tfjob.local.apiserver.decode import parse_body  # noqa: PLC0415
    from tfjob.local.apiserver.schema import Node, default, prune  # noqa: PLC0415
    from tfjob.local.apiserver.schema_validation import check  # noqa: PLC0415
    from tfjob.local.apiserver.status import StatusError  # noqa: PLC0415

    dialect = KubeflowV1()
    [version, *_] = dialect.crd()["spec"]["versions"]
    node = Node(version["schema"]["openAPIV3Schema"], "schema", is_root=True)

    def run(data: bytes) -> None:
        with suppress(StatusError):
            value = parse_body(data, "application/yaml")
            if isinstance(value, dict):
                dialect.decode({"metadata": {"name": "j"}, **value}, Settings())
                prune(node, value, path="", unknown=[])
                default(node, value)
                check(node, value)

    return run


def _body() -> Target:
    from tfjob.local.apiserver.decode import parse_body  # noqa: PLC0415
    from tfjob.local.apiserver.status import StatusError  # noqa: PLC0415

    media = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")

    def run(data: bytes) -> None:
        for each in media:
            with suppress(StatusError):
                parse_body(data, each)

    return run


TARGETS: Final[Mapping[str, Callable[[], Target]]] = {
    "watch": _watch,
    "http": _http,
    "kubeconfig": _kubeconfig,
    "documents": _documents,
    "cel": _cel,
    "schema": _schema,
    "body": _body,
}


_JOB: Final = (
    b'{"apiVersion":"kubeflow.org/v1","kind":"TFJob","metadata":{"name":"j","namespace":"n",'
    b'"uid":"u","resourceVersion":"1"},"spec":{"runPolicy":{"cleanPodPolicy":"Running"},'
    b'"tfReplicaSpecs":{"Worker":{"replicas":2,"restartPolicy":"OnFailure","template":{"spec":'
    b'{"containers":[{"name":"tensorflow","image":"i","ports":[{"containerPort":2222}]}]}}}}}}'
)
_KUBECONFIG: Final = b"""\
current-context: c
contexts:
- name: c
  context: {cluster: k, user: u}
clusters:
- name: k
  cluster: {server: 'https://h:6443', tls-server-name: h}
users:
- name: u
  user:
    exec: {command: x, args: [a], env: [{name: A, value: b}]}
"""
SEEDS: Final[Mapping[str, Sequence[bytes]]] = {
    "watch": [
        b'{"type":"ADDED","object":' + _JOB + b"}",
        b'{"type":"ERROR","object":{"code":410}}',
    ],
    "http": [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\nT: x\r\n\r\n",
        b"HTTP/1.0 429 Slow down\r\nRetry-After: 3\r\nConnection: close\r\n\r\nlater",
    ],
    "kubeconfig": [_KUBECONFIG],
    "documents": [
        _JOB,
        b"a: &a [1e3, 2026-01-01]\nb: *a\n---\nkind: List\nitems:\n- {x: |-\n  y}\n",
    ],
    "cel": [
        b"self.b.all(x, x > 0) && has(self.a) ? self.c.matches('^t') : self.d.?e.orValue(1) == 2",
        b"self.b.exists_one(i, i == 1) || !('x' in ['y']) && size(self.c) + 1 <= {'a': 2}['a'] % 3",
    ],
    "schema": [_JOB],
    "body": [_JOB, b"k8s\x00\n\x0c\n\x02v1\x12\x06Status\x12\x02\n\x00"],
}
"""Inputs to start with, because finding a first valid input takes long."""


def fuzz(name: str, seconds: int) -> None:
    """Fuzz one target in this process, and exit."""
    atheris: Any = importlib.import_module("atheris")
    corpus = FOLDER / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS[name]):
        (corpus / f"seed-{number}").write_bytes(seed)
    with atheris.instrument_imports(include=["tfjob"]):
        run = TARGETS[name]()
    flags = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=10", "-verbosity=0"]
    prefix = f"-artifact_prefix={FOLDER / name}-finding-"
    atheris.Setup([sys.argv[0], *flags, prefix, str(corpus)], run)
    atheris.Fuzz()


def fuzz_all(names: Sequence[str], seconds: int) -> int:
    """Fuzz each target in its own process; return 1 if one has a finding."""
    failed = []
    for name in names:
        print(f"fuzz: {name}: {seconds} s", flush=True)
        command = [sys.executable, "-m", "tools.fuzz", "--alone", "--seconds", str(seconds), name]
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
    for name in failed:
        print(f"fuzz: {name}: FINDING, the input is in {FOLDER}/{name}-finding-*", file=sys.stderr)
    print(f"fuzz: {len(names) - len(failed)} of {len(names)} targets without a finding")
    return 1 if failed else 0


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TARGETS))
    arguments = parser.parse_args(words)
    if unknown := sorted(set(arguments.names) - set(TARGETS)):
        parser.error(f"no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    if arguments.alone:
        fuzz(arguments.names[0], arguments.seconds)
        return 0
    return fuzz_all(arguments.names or list(TARGETS), arguments.seconds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
