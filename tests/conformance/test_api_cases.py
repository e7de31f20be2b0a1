"""The API suite: our server answers every case as a real kube-apiserver does.

Each case is played against ours and, where a control plane can be had, against a real one in the
same run; both must give the recorded answers. TFJOB_RECORD=1 records the real ones again.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.api_cases import harness
from tests.support.controlplane.cluster import ControlPlane
from tfjob.local.apiserver.server import ApiServer

Json = dict[str, Any]
CASES = harness.load_cases()
IS_RECORDING = bool(os.environ.get("TFJOB_RECORD"))
every_case = pytest.mark.parametrize(
    ("file", "case"), CASES, ids=[f"{file}-{case['name']}" for file, case in CASES]
)


@pytest.fixture
async def ours(tmp_path: Path) -> AsyncIterator[harness.Target]:
    async with ApiServer(tmp_path) as server:
        target = harness.target_of(server.kubeconfig_path)
        yield target
        await target.session.close()


@pytest.fixture
async def real(control_plane: ControlPlane) -> AsyncIterator[harness.Target]:
    target = harness.target_of(control_plane.kubeconfig)
    yield target
    await target.session.close()


@every_case
async def test_our_answers_are_the_recorded_ones(
    file: str, case: Json, ours: harness.Target
) -> None:
    check(file, case, await harness.play(ours, case))


@every_case
async def test_a_real_servers_answers_are_the_recorded_ones(
    file: str, case: Json, real: harness.Target
) -> None:
    answers = await harness.play(real, case)
    if IS_RECORDING:
        harness.record(file, case["name"], answers)
    check(file, case, answers)


def check(file: str, case: Json, answers: list[Json]) -> None:
    wanted = harness.expected(file).get(case["name"])
    assert wanted, f"case {case['name']}: no recorded answers; record them against a real server"
    shown = [step["do"] for step in case["steps"] if not step.get("hide")]
    for do, got, want in zip(shown, answers, wanted, strict=True):
        assert got == want, do


def test_case_names_are_unique() -> None:
    names = [(file, case["name"]) for file, case in CASES]
    assert len(names) == len(set(names))


def test_no_recorded_answer_is_left_without_its_case() -> None:
    recorded = {
        (path.stem, name) for path in harness.recordings() for name in harness.expected(path.stem)
    }
    assert recorded == {(file, case["name"]) for file, case in CASES}
