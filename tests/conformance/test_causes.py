"""Every known cause is injected where it strikes, and the job's diagnosis names it.

The cases are a list that the table of measured causes uses too. How long a diagnosis takes is
reported there and never checked here.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.causes import cluster_cases, node_cases, program_cases
from tests.support.causes.case import Case, outcome_of
from tests.support.causes.stages import played_locally, played_on_cluster
from tests.support.controlplane.cluster import ControlPlane
from tests.support.controlplane.toolchain import Unavailable
from tests.support.environments import Environment
from tests.support.local_apiserver.process import endpoint_of
from tests.support.local_cluster import WHOLE, LocalCluster
from tests.support.operator_identity import identity_on


@pytest.fixture(scope="module")
def scheduled_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real control plane with a scheduler, and the operator on it under its own identity."""
    plane = ControlPlane(folder=tmp_path_factory.mktemp("causes"), scheduler=True)
    try:
        plane.start()
    except Unavailable as missing:
        pytest.skip(f"NO REAL CONTROL PLANE: {missing}")
    try:
        env = Environment("causes", plane, identity=identity_on(plane))
        try:
            env.operator.start()
            yield plane
        finally:
            env.close()
    finally:
        plane.stop()


@pytest.mark.parametrize("cases", [cluster_cases.CASES, node_cases.CASES], ids=["cluster", "node"])
@pytest.mark.timeout(func_only=True)
async def test_every_cause_is_named_on_a_cluster(
    scheduled_plane: ControlPlane, cases: Sequence[Case]
) -> None:
    outcomes = await played_on_cluster(scheduled_plane, cases, outcome_of)
    faults = [f"{each.case.number} {each.case.title}: {each.fault}" for each in outcomes]
    assert not [each for each, outcome in zip(faults, outcomes, strict=True) if outcome.fault]


async def test_every_cause_inside_a_program_is_named(tmp_path: Path) -> None:
    workdir = tmp_path / "work"
    workdir.mkdir()
    with LocalCluster(tmp_path / "local", workdir=workdir, parts=WHOLE) as cluster:
        endpoint = endpoint_of(cluster.data / "kubeconfig")
        outcomes = await played_locally(endpoint, program_cases.CASES, outcome_of)
        cluster.end()
    faults = [f"{each.case.number} {each.case.title}: {each.fault}" for each in outcomes]
    assert not [each for each, outcome in zip(faults, outcomes, strict=True) if outcome.fault]
