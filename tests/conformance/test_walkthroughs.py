"""The walk-throughs of the guide do what they show, on the local cluster."""

import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.local_cluster import ROOT, WHOLE, LocalCluster
from tests.support.patience import PATIENCE
from tests.support.walkthrough import Step, steps_of

PAGES = sorted((ROOT / "docs" / "walkthroughs").glob("*.md"))
READS = ("kubectl get ", "kubectl describe ", "kubectl logs ")
needs_kubectl = pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="NO KUBECTL ON PATH: the walk-throughs were not tried"
)


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


def test_there_is_a_page_for_each_document() -> None:
    assert {"001", "002", "003"} <= {page.stem for page in PAGES}


@needs_kubectl
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_the_page_has_the_output_that_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    steps = list(steps_of(page.read_text("utf-8")))
    assert steps
    with LocalCluster(tmp_path, workdir=ROOT / "tests" / "seeds", parts=WHOLE) as cluster:
        environment = {**os.environ, "KUBECONFIG": str(cluster.data / "kubeconfig")}
        for step in steps:
            done = shown_by(step, environment)
            told = f"$ {step.command}\n{done.stdout}\nbut the page shows:\n{step.shown}"
            assert done.returncode == 0, told
            assert step.fits(done.stdout), told
