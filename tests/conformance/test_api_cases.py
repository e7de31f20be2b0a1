"""The API suite: our server answers every case as a real kube-apiserver does.

With TFJOB_REAL_KUBECONFIG set to the kubeconfig of a real cluster, both are asked in the same run;
without it, our answers are compared with what a real one answered when the cases were recorded
(TFJOB_RECORD=1 records them again).
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.api_cases import harness
from tfjob.local.apiserver.server import ApiServer

Json = dict[str, Any]
CASES = harness.load_cases()
REAL = os.environ.get("TFJOB_REAL_KUBECONFIG", "")
IS_RECORDING = bool(os.environ.get("TFJOB_RECORD"))


@pytest.fixture
async def ours(tmp_path: Path) -> AsyncIterator[harness.Target]:
    async with ApiServer(tmp_path) as server:
        target = harness.target_of(server.kubeconfig_path)
        yield target
        await target.session.close()


@pytest.mark.parametrize(("file", "case"), CASES, ids=[f"{f}-{c['name']}" for f, c in CASES])
async def test_our_answers_are_those_of_a_real_server(
    file: str, case: Json, ours: harness.Target
) -> None:
    if REAL:
        real = harness.target_of(Path(REAL))
        wanted = await harness.play(real, case)
        await real.session.close()
        if IS_RECORDING:
            harness.record(file, case["name"], wanted)
    else:
        wanted = harness.expected(file).get(case["name"], [])
    assert wanted, f"case {case['name']}: no recorded answers; record them against a real server"
    answers = await harness.play(ours, case)
    for index, (got, want) in enumerate(zip(answers, wanted, strict=True)):
        assert got == want, f"step {index}: {case['steps'][index]['do']}"


def test_case_names_are_unique() -> None:
    names = [(file, case["name"]) for file, case in CASES]
    assert len(names) == len(set(names))
