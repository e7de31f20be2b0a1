"""The page of the published documents: each is a valid job, converted to every API and back."""

from pathlib import Path

import pytest

from tests.support import seeds
from tfjob.dialects.registry import DIALECTS
from tools import seed_documents
from tools.seed_documents import Document, Trip

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def found() -> list[Document]:
    return list(seed_documents.documents(ROOT))


def test_every_published_job_is_on_the_page(found: list[Document]) -> None:
    assert [each.name for each in found] == seeds.JOBS
    page = seed_documents.page(ROOT)
    assert all(f"| `{name}` |" in page for name in seeds.JOBS)


def test_every_published_job_is_valid_and_has_pods(found: list[Document]) -> None:
    assert [each.name for each in found if each.faults or not each.pods] == []


def test_every_published_job_goes_to_every_other_api_and_back(found: list[Document]) -> None:
    for each in found:
        assert len(each.trips) == len(DIALECTS) - 1
        assert not any(trip.faults for trip in each.trips.values())


def test_a_trip_without_losses_gives_the_same_job(found: list[Document]) -> None:
    trips = [trip for each in found for trip in each.trips.values()]
    lossless = [trip for trip in trips if not trip.there and not trip.back]
    assert lossless
    assert all(trip.is_same for trip in lossless)


@pytest.mark.parametrize(
    ("trip", "cell"),
    [
        (Trip((), (), is_same=True), "no loss, no loss back; the same job again"),
        (Trip(("a",), ("b", "c"), is_same=False), "1 loss, 2 losses back"),
        (Trip((), (), is_same=False, faults=("f",)), "cannot be converted"),
    ],
)
def test_a_trip_is_told_in_a_cell(trip: Trip, cell: str) -> None:
    assert trip.cell == cell
