"""Malformed files, plugin output and request bodies lead to an error message, never to a crash."""

import sys
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.hostile import DEPTHS, nested
from tests.support.tfjobs import tfjob
from tfjob.client import kubeconfig
from tfjob.client.credentials import ConfigError
from tfjob.client.exec_plugin import ExecPlugin, ExecSpec
from tfjob.core.invalid_job import InvalidJob
from tfjob.dialects.base import Settings
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.dialects.registry import DESCRIPTORS
from tfjob.k8s import safe_yaml
from tfjob.local.apiserver import decode
from tfjob.local.apiserver.status import StatusError
from tfjob.manager import dialect_flags

JSON = "application/json"
YAML = "application/yaml"
DEEP = "nested more than 100 levels deep"


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_deep_kubeconfig_is_rejected(depth: int, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_bytes(b"clusters: " + nested(depth))
    with pytest.raises(ConfigError, match=f"kubeconfig {file}: .*{DEEP}"):
        kubeconfig.read(file)


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_deep_configuration_file_is_rejected(depth: int, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(b"accelerators: " + nested(depth))
    [flag] = [flag for each in DESCRIPTORS for flag in each.file_flags]
    with pytest.raises(dialect_flags.ConfigFileError, match=f"{file}: .*{DEEP}"):
        dialect_flags.read_file(file, flag)


@pytest.mark.parametrize("content", [b"a: 2026-13-45\n", b"\xff\xfe\x00", b"a: \x00", b"&a [*a]"])
def test_a_malformed_kubeconfig_is_rejected(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_bytes(content)
    with pytest.raises(ConfigError):
        kubeconfig.read(file)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("media", [JSON, YAML])
def test_a_deep_body_is_a_bad_request(depth: int, media: str) -> None:
    with pytest.raises(StatusError) as caught:
        decode.parse_body(b'{"spec":' + nested(depth) + b"}", media)
    assert caught.value.code == 400
    assert DEEP in str(caught.value.message)


def test_a_body_at_the_limit_is_read() -> None:
    assert decode.parse_body(nested(100), JSON) == decode.parse_body(nested(100), YAML)


@given(st.binary(max_size=60) | st.text(alphabet="[]{}&*a: \n-\t'\"|>!%", max_size=60))
def test_any_body_is_read_or_a_bad_request(text: bytes | str) -> None:
    body = text if isinstance(text, bytes) else text.encode()
    for media in (JSON, YAML):
        with suppress(StatusError):
            decode.parse_body(body, media)


def test_aliases_that_mean_too_much_are_rejected() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 10)}]\n" for n in range(9)
    )
    with pytest.raises(yaml.YAMLError, match="aliases make it over"):
        safe_yaml.load(bomb)


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_deep_annotation_is_a_fault_of_its_job(depth: int) -> None:
    manifest = tfjob("W1")
    deep = '{"runPolicy":{"schedulingPolicy":' + nested(depth).decode() + "}}"
    manifest["metadata"]["annotations"] = {"training.kubeflow.org/v1-only-fields": deep}
    found = KubeflowV1().decode(manifest, Settings())
    assert isinstance(found, InvalidJob)
    assert [fault.path for fault in found.faults] == [
        "metadata.annotations[training.kubeflow.org/v1-only-fields]"
    ]


async def test_a_plugin_with_a_deep_answer_is_a_fault_of_the_plugin(tmp_path: Path) -> None:
    script = tmp_path / "plugin.py"
    script.write_text("print('{\"status\":' * 100000 + '1' + '}' * 100000)")
    version = "client.authentication.k8s.io/v1"
    spec = ExecSpec(command=sys.executable, api_version=version, args=(str(script),))
    with pytest.raises(ConfigError, match="exec plugin"):
        await ExecPlugin(spec, cluster={}).header()
