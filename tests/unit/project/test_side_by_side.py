"""The page that compares the operators: every case is described, every difference explained."""

import json
from pathlib import Path
from typing import Any

import pytest

from tools.side_by_side import RECORD, SOURCE, SideBySideError, page

SEEN = {"conditions": ["Created=True"], "events": ["Normal A"], "pods": [], "TF_CONFIG": {}}
SAME = SEEN | {"seconds": 2.0}


def checkout(folder: Path, *, theirs: dict[str, Any], text: str) -> Path:
    """A checkout with one recorded case, in which ours behaves as usual."""
    record = {"case": {"ours": SAME, "theirs": theirs}, "starts": {"ours": [2], "theirs": [3, 5]}}
    for path, content in ((RECORD, json.dumps(record)), (SOURCE, text)):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    return folder


def test_equal_cases_need_no_explanation(tmp_path: Path) -> None:
    said = page(checkout(tmp_path, theirs=SAME, text='[case]\nwhat = "It ends"'))
    assert "| It ends | 2.0 | 2.0 | - | - |" in said
    assert "tfjob 2.00 s (2 to 2), training-operator 4.00 s (3 to 5)" in said


def test_explained_difference_is_shown_with_both_values(tmp_path: Path) -> None:
    theirs = SAME | {"pods": ["worker-0"], "TF_CONFIG": {"worker-0": "{}"}}
    said = page(checkout(tmp_path, theirs=theirs, text='[case]\nwhat = "It ends"\nwhy = "So"'))
    assert "| It ends | 2.0 | 2.0 | pods, TF_CONFIG | So |" in said
    assert "| pods | - | worker-0 |" in said
    assert "| TF_CONFIG | worker-0: `None` | worker-0: `{}` |" in said


@pytest.mark.parametrize(
    "theirs",
    [SAME | {"events": []}, SAME | {"seconds": None}],
    ids=["another event", "no end"],
)
def test_difference_without_an_explanation_is_rejected(
    tmp_path: Path, theirs: dict[str, Any]
) -> None:
    root = checkout(tmp_path, theirs=theirs, text='[case]\nwhat = "It ends"')
    with pytest.raises(SideBySideError, match="case: differs in"):
        page(root)


def test_explanation_of_no_difference_is_rejected(tmp_path: Path) -> None:
    root = checkout(tmp_path, theirs=SAME, text='[case]\nwhat = "It ends"\nwhy = "So"')
    with pytest.raises(SideBySideError, match="differs in nothing"):
        page(root)


def test_case_that_is_not_described_is_rejected(tmp_path: Path) -> None:
    root = checkout(tmp_path, theirs=SAME, text='[other]\nwhat = "It ends"')
    with pytest.raises(SideBySideError, match="case, other: only in one"):
        page(root)
