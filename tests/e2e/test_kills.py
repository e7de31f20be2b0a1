"""A hundred kills while the examples train: every job ends in the state that the contract promises.

TFJOB_SEED repeats the draws of an earlier run; TFJOB_KILLS asks for another number of kills.
"""

import importlib.util
import os
import secrets
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.support.chaos import Chaos, Writer, assert_nothing_is_left
from tests.support.local_cluster import SPLIT, WHOLE, LocalCluster

ROOT = Path(__file__).parents[2]
SEED = int(os.environ.get("TFJOB_SEED") or secrets.randbelow(1_000_000))
KILLS = int(os.environ.get("TFJOB_KILLS") or 100)
ROUND_SECONDS = 300.0


class Front(NamedTuple):
    """Where a share of the kills falls; `span` is about what the example takes undisturbed."""

    example: str
    parts: tuple[str, ...]
    share: float
    span: float
    most: int = 2
    """Containers lost per job: with its own crash, 04 stays within its backoffLimit."""

    @property
    def name(self) -> str:
        return f"{self.example}-{'whole' if self.parts == WHOLE else 'split'}"


FRONTS = (
    Front("05-single-worker", SPLIT, 0.3, 6.0),
    Front("05-single-worker", WHOLE, 0.15, 6.0),
    Front("04-resume", SPLIT, 0.2, 6.0),
    Front("04-resume", WHOLE, 0.1, 10.0),
    Front("03-evaluator", SPLIT, 0.1, 8.0),
    Front("01-parameter-servers", SPLIT, 0.1, 8.0),
    Front("01-parameter-servers", WHOLE, 0.05, 15.0),
)


@pytest.mark.timeout(3600, func_only=True)
@pytest.mark.parametrize("front", FRONTS, ids=lambda front: front.name)
def test_example_ends_as_promised_whatever_is_killed(tmp_path: Path, front: Front) -> None:
    assert importlib.util.find_spec("tensorflow"), "NO TENSORFLOW: `make e2e-local` installs it"
    folder = ROOT / "examples" / front.example
    documents = list(yaml.safe_load_all((folder / "job.yaml").read_text()))
    with LocalCluster(tmp_path, workdir=folder, parts=front.parts) as cluster:
        chaos = Chaos(cluster, seed=SEED, span=front.span)
        with Writer(cluster) as writer:
            while chaos.kills < round(KILLS * front.share):
                current = chaos.play(documents, most=front.most, limit=ROUND_SECONDS)
                print(f"seed {SEED}, {chaos.kills} kills: {', '.join(current.told)}", flush=True)
        assert not writer.lost(), chaos.story()
        cluster.end()
        assert_nothing_is_left(cluster)
