"""Credentials from exec plugins."""

import asyncio
import sys
from pathlib import Path

import msgspec
import pytest

from tfjob.client.credentials import ConfigError
from tfjob.client.exec_plugin import ExecPlugin, ExecSpec, Variable

GROUP = "client.authentication.k8s.io"

WELL_BEHAVED = """
import json, os, pathlib
runs = pathlib.Path(os.environ["RUNS"])
runs.write_text(runs.read_text() + os.environ["KUBERNETES_EXEC_INFO"] + "\\n")
token = f"token-{len(runs.read_text().splitlines())}"
print(json.dumps({"kind": "ExecCredential", "status": {"token": token}}))
"""


class Program:
    """A plugin that records its runs and their input."""

    def __init__(self, folder: Path, code: str = WELL_BEHAVED) -> None:
        self._script = folder / "plugin.py"
        self._script.write_text(code)
        self._runs = folder / "runs"
        self._runs.write_text("")

    def plugin(self, *, version: str = "v1", provide_cluster_info: bool = False) -> ExecPlugin:
        spec = ExecSpec(
            command=sys.executable,
            api_version=f"{GROUP}/{version}",
            args=(str(self._script),),
            env=(Variable("RUNS", str(self._runs)),),
            provide_cluster_info=provide_cluster_info,
        )
        return ExecPlugin(spec, cluster={"server": "https://one"})

    @property
    def inputs(self) -> list[object]:
        return [msgspec.json.decode(line) for line in self._runs.read_text().splitlines()]


async def test_many_requests_at_once_run_the_program_once(tmp_path: Path) -> None:
    program = Program(tmp_path)
    plugin = program.plugin()
    headers = await asyncio.gather(*(plugin.header() for _ in range(5)))
    assert headers == ["Bearer token-1"] * 5
    assert len(program.inputs) == 1


async def test_a_rejected_token_is_fetched_again_once_for_all_who_were_rejected(
    tmp_path: Path,
) -> None:
    program = Program(tmp_path)
    plugin = program.plugin()
    refused = await plugin.header()
    assert plugin.renew(refused)
    assert await plugin.header() == "Bearer token-2"
    assert plugin.renew(refused)
    assert await plugin.header() == "Bearer token-2"


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_the_plugin_gets_its_version_and_the_cluster_if_it_asks_for_it(
    tmp_path: Path, version: str
) -> None:
    program = Program(tmp_path)
    await program.plugin(version=version, provide_cluster_info=True).header()
    assert program.inputs == [
        {
            "apiVersion": f"{GROUP}/{version}",
            "kind": "ExecCredential",
            "spec": {"interactive": False, "cluster": {"server": "https://one"}},
        }
    ]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; sys.exit('log in first')", "log in first"),
        ("print('nothing')", "status.token is needed"),
        ("print('{}')", "status.token is needed"),
    ],
)
async def test_a_program_that_fails_is_quoted(tmp_path: Path, code: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        await Program(tmp_path, code).plugin().header()


async def test_a_missing_program_is_named_with_its_hint(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    spec = ExecSpec(command=missing, api_version=f"{GROUP}/v1", install_hint="Get it at the shop.")
    with pytest.raises(ConfigError, match=r"no such program\. Get it at the shop"):
        await ExecPlugin(spec, cluster={}).header()


def test_an_unknown_version_is_rejected_with_the_allowed_ones() -> None:
    with pytest.raises(ConfigError, match=r"v1, v1beta1, v1alpha1, got 'other/v7'"):
        ExecPlugin(ExecSpec(command="x", api_version="other/v7"), cluster={})


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightkube.config.client_adapter", None)
    with pytest.raises(ConfigError, match=r"tfjob\[kubeconfig\]"):
        ExecPlugin(ExecSpec(command="x", api_version=f"{GROUP}/v1"), cluster={})
