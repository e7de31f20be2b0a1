"""Descendants of processes."""

import os

from tfjob.local.node.process_tree import descendants, parents


def test_descendants_include_all_levels_and_no_siblings() -> None:
    parent_of = {2: 1, 3: 2, 4: 3, 5: 1, 6: 5, 7: 99}
    assert descendants(2, parent_of) == [3, 4]
    assert descendants(1, parent_of) == [2, 5, 3, 6, 4]
    assert descendants(4, parent_of) == []


def test_parents_of_this_machine_are_known() -> None:
    found = parents()
    assert os.getpid() in found
    assert found[os.getpid()] == os.getppid()
