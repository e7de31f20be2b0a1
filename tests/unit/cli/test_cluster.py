import argparse
import os
import shutil
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.local_apiserver.serving import api_server_in_thread
from tests.support.tfjobs import tfjob
from tests.unit.cli.conftest import Command
from tfjob.cli import cluster
from tfjob.cli.cluster import CommandError
from tfjob.client.errors import Forbidden, Unreachable
from tfjob.local import data_folder
from tfjob.sdk.connection import Cluster
from tfjob.sdk.kept_runs import runs_folder
from tfjob.sdk.run_folder import RunFolder

SINCE = "2026-11-17T00:00:00Z"
QUOTED = "try `tfjob delete j`"
"""What a program or another component says."""
Work = Callable[[Cluster], Awaitable[int]]


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    cluster.add_arguments(parser, all_namespaces=True)
    return parser.parse_args(words)


def raising(error: Exception) -> Work:
    async def work(_: Cluster) -> int:
        raise error

    return work


async def seven(_: Cluster) -> int:
    return 7


@pytest.fixture
def _nothing_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without a kubeconfig, whose state is in `tmp_path`."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_flags_choose_the_namespace(tmp_path: Path) -> None:
    seen: list[tuple[str | None, str]] = []

    async def work(connected: Cluster) -> int:
        seen.append((connected.namespace, connected.one_namespace))
        return 7

    with api_server_in_thread(tmp_path / "data") as up:
        for words in ([], ["-n", "team"], ["-A"]):
            assert cluster.run(arguments(*words, *up.flags), work) == 7
    assert seen == [("default", "default"), ("team", "team"), (None, "default")]


@pytest.mark.parametrize(
    "error",
    [
        CommandError("it cannot be done"),
        Forbidden("it cannot be done", status=403),
        ExceptionGroup("of tasks", [ExceptionGroup("", [CommandError("it cannot be done")])]),
    ],
)
def test_an_error_is_printed_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    with api_server_in_thread(tmp_path / "data") as up:
        assert cluster.run(arguments(*up.flags), raising(error)) == 1
    assert capsys.readouterr().err == "error: it cannot be done\n"


def test_a_missing_context_is_reported_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as up:
        words = ["--context", "elsewhere", *up.flags]
        assert cluster.run(arguments(*words), raising(AssertionError())) == 1
    assert "elsewhere" in capsys.readouterr().err


@pytest.mark.usefixtures("_nothing_configured")
def test_a_running_local_cluster_is_used_unless_another_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = data_folder.default_folder()
    with api_server_in_thread(folder) as up:
        handle = data_folder.lock(folder)
        assert cluster.run(arguments(), seven) == 7
        assert capsys.readouterr().err.startswith(f"using the local cluster on {folder}")
        assert cluster.run(arguments(*up.flags), seven) == 7
        assert cluster.run(arguments("--context", "tfjob-local"), seven) == 1
        monkeypatch.setenv("KUBECONFIG", str(up.kubeconfig))
        assert cluster.run(arguments(), seven) == 7
        assert "using the local cluster" not in capsys.readouterr().err
        os.close(handle)
        monkeypatch.delenv("KUBECONFIG")
        assert cluster.run(arguments(), seven) == 1
        assert "no cluster is configured" in capsys.readouterr().err


@pytest.mark.usefixtures("_nothing_configured")
def test_only_commands_that_read_use_an_active_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as up:
        now = datetime(2026, 11, 17, tzinfo=UTC)
        kept = RunFolder.create(
            runs_folder(), job="j", file="job.yaml", now=now, kubeconfig=up.kubeconfig
        )
        assert cluster.run(arguments(), seven, looks_at=[]) == 7
        assert capsys.readouterr().err.startswith(f"using the cluster of {kept.path.name}; ")
        assert cluster.run(arguments(), seven) == 1
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "other"))
        assert cluster.run(arguments(), seven, looks_at=["j"]) == 1


@pytest.mark.usefixtures("_nothing_configured")
def test_a_run_is_preferred_to_the_users_cluster_only_for_its_own_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        api_server_in_thread(tmp_path / "data") as up,
        api_server_in_thread(tmp_path / "its") as it,
    ):
        config = tmp_path / "nobody" / ".kube" / "config"
        config.parent.mkdir(parents=True)
        shutil.copy(up.kubeconfig, config)
        for minute, job in enumerate(("j", "j", "other")):
            RunFolder.create(
                runs_folder(),
                job=job,
                file="job.yaml",
                now=datetime(2026, 11, 17, 0, minute, tzinfo=UTC),
                kubeconfig=it.kubeconfig,
                namespace="team",
            )
        expected = {
            (): "",
            ("mnist",): "",
            ("j",): "using the cluster of j-20261117-000100; ",
            ("tfjobs.kubeflow.org/j",): "using the cluster of j-20261117-000100; ",
            ("j", "other"): "",
        }
        for names, line in expected.items():
            assert cluster.run(arguments(), seven, looks_at=names) == 7
            assert capsys.readouterr().err.partition("--")[0] == line
        assert cluster.run(arguments("-n", "elsewhere"), seven, looks_at=["j"]) == 7
        assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("_nothing_configured")
@pytest.mark.parametrize(
    ("outcome", "code", "printed"),
    [
        ("succeeded", 0, "\nj-20261117-000000 has ended (succeeded), and its cluster with it; `tf"),
        ("failed", 1, "\nj-20261117-000000 has ended (failed), and its cluster with it; `tfjob l"),
        ("", 1, "\nerror: the cluster does not answer: connection refused"),
    ],
)
def test_a_run_that_ends_while_a_command_looks_at_it_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], outcome: str, code: int, printed: str
) -> None:
    now = datetime(2026, 11, 17, tzinfo=UTC)
    with api_server_in_thread(tmp_path / "data") as up:
        kept = RunFolder.create(
            runs_folder(), job="j", file="job.yaml", now=now, kubeconfig=up.kubeconfig
        )

    async def lose(_: Cluster) -> int:
        if outcome:
            kept.finish(outcome, now=now)
        raise Unreachable("connection refused")

    assert cluster.run(arguments(), lose, looks_at=["j"]) == code
    assert printed in capsys.readouterr().err


@pytest.mark.usefixtures("_nothing_configured")
def test_commands_suggested_for_a_run_include_its_kubeconfig(
    tmp_path: Path, command: Command
) -> None:
    with api_server_in_thread(tmp_path / "data") as up:
        jobs = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"
        up.endpoint.request("POST", jobs, tfjob("W1", name="j"))
        why = {"cause": "Suspended", "message": "the job is suspended", "since": SINCE}
        why["lastLines"] = QUOTED
        condition = {"type": "Suspended", "status": "True", "lastTransitionTime": SINCE}
        status = {"conditions": [condition], "diagnosis": why}
        up.endpoint.request("PATCH", f"{jobs}/j/status", {"status": status})
        RunFolder.create(
            runs_folder(),
            job="j",
            file="job.yaml",
            now=datetime(2026, 11, 17, tzinfo=UTC),
            kubeconfig=up.kubeconfig,
            namespace="default",
        )
        assert f"`tfjob resume --kubeconfig {up.kubeconfig}`" in command("explain", "j").out
        assert f"`tfjob get -A --kubeconfig {up.kubeconfig}`" in command("wait", "x").err
        uid = up.endpoint.request("GET", f"{jobs}/j")["metadata"]["uid"]
        event = {
            "metadata": {"name": "j.1"},
            "involvedObject": {"kind": "TFJob", "name": "j", "namespace": "default", "uid": uid},
            "type": "Warning",
            "reason": "Odd",
            "message": QUOTED,
            "lastTimestamp": SINCE,
        }
        up.endpoint.request("POST", "/api/v1/namespaces/default/events", event)
        for verb, times in {"explain": 2, "describe": 1, "events": 1}.items():
            assert command(verb, "j").out.count(QUOTED) == times
        assert "`tfjob resume`" in command("explain", "j", *up.flags).out


@pytest.mark.usefixtures("_nothing_configured")
def test_commands_that_read_find_the_job_of_a_run_in_its_namespace(
    tmp_path: Path, command: Command
) -> None:
    with api_server_in_thread(tmp_path / "data") as up:
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
        up.endpoint.request("POST", "/api/v1/namespaces", space)
        jobs = "/apis/kubeflow.org/v1/namespaces/team/tfjobs"
        up.endpoint.request("POST", jobs, tfjob("W1", name="j"))
        ended = {"type": "Succeeded", "status": "True", "message": "done"}
        up.endpoint.request("PATCH", f"{jobs}/j/status", {"status": {"conditions": [ended]}})
        RunFolder.create(
            runs_folder(),
            job="j",
            file="job.yaml",
            now=datetime(2026, 11, 17, tzinfo=UTC),
            kubeconfig=up.kubeconfig,
            namespace="team",
        )
        assert command("get", "-o", "name").out == "tfjobs.kubeflow.org/j\n"
        assert command("wait", "j").out == "j: Succeeded: done\n"
        assert command("attach", "j").out == "succeeded: done\n"
        assert command("wait", "j", "-n", "default").code == 1
