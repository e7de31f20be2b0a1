"""The walk-throughs do what they show: on the local cluster, and on a real API server.

No kubelet runs on the real one. A fake one reports that pods run, and that all but the servers end
with 0, so what needs a container, such as its log, is left to the local cluster.
"""

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.controlplane.toolchain import provide
from tests.support.environments import Environment
from tests.support.fake_kubelet.driver import FakeKubelet, exits, runs
from tests.support.local_cluster import ROOT, WHOLE, LocalCluster
from tests.support.patience import PATIENCE
from tests.support.walkthrough import Step, steps_of

PAGES = sorted((ROOT / "docs" / "walkthroughs").glob("*.md"))
READS = ("kubectl get ", "kubectl describe ", "kubectl logs ", "kubectl -n kubeflow get ")
NAMESPACES = ("default", "kubeflow")
TRAINERS = ("*master-*", "*worker-*")
needs_kubectl = pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="NO KUBECTL ON PATH: the walk-throughs were not tried"
)
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def run(step: Step, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {step.command}"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=4 * PATIENCE,
        check=False,
    )


def shown_by(step: Step, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """The command's end. What is read may come a moment later, such as an event: wait for it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        done = run(step, environment)
        is_so = done.returncode == 0 and step.fits(done.stdout)
        if is_so or not step.command.startswith(READS) or time.monotonic() > deadline:
            return done
        time.sleep(0.1)


def steps_on(page: Path) -> list[Step]:
    return list(steps_of(page.read_text("utf-8")))


def follow(steps: list[Step], environment: Mapping[str, str]) -> None:
    """Run the commands one after the other; each must show what the page shows."""
    assert steps
    for step in steps:
        done = shown_by(step, environment)
        told = f"$ {step.command}\n{done.stdout}\nbut the page shows:\n{step.shown}"
        assert done.returncode == 0, told
        assert step.fits(done.stdout), told


def test_there_is_a_page_for_each_document() -> None:
    assert [page.stem for page in PAGES] == ["000", "001", "002", "003", "004"]


@every_page
def test_a_page_says_why_a_step_is_local(page: Path) -> None:
    """The sentence before a block that only a local cluster answers names what there is not."""
    before = page.read_text("utf-8").split("```console local\n")[:-1]
    for text in before:
        sentence = text.rstrip().rpartition("\n\n")[2]
        assert "local cluster" in sentence, sentence


@needs_kubectl
@every_page
def test_every_command_of_the_page_has_the_output_that_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with LocalCluster(tmp_path, workdir=ROOT / "tests" / "seeds", parts=WHOLE) as cluster:
        environment = {**os.environ, "KUBECONFIG": str(cluster.data / "kubeconfig")}
        follow(steps_on(page), environment)


@every_page
async def test_a_real_api_server_shows_the_same(kubernetes_env: Environment, page: Path) -> None:
    kubernetes_env.operator.start()
    endpoint = kubernetes_env.endpoint
    path = os.pathsep.join([str(provide("kubectl")["kubectl"].parent), os.environ["PATH"]])
    kubeconfig = str(kubernetes_env.server.kubeconfig)
    environment = {**os.environ, "PATH": path, "KUBECONFIG": kubeconfig}
    steps = [step for step in steps_on(page) if not step.is_local]
    one, two = (FakeKubelet(endpoint, namespace=each) for each in NAMESPACES)
    async with one, two:
        for kubelet in (one, two):
            for pattern in TRAINERS:
                kubelet.script(pattern, runs, exits(0))
            kubelet.script("*", runs)
        await asyncio.to_thread(follow, steps, environment)
