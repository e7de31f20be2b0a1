"""Each statement of the published documents has a test that exists, or a sentence."""

from pathlib import Path

import pytest

from tools import generate, seeds

ROOT = Path(__file__).parents[3]
TITLE = 'title = "A document"\n'
WORKS = """
[[row]]
seed = "001"
lines = "12-14"
statement = "It works"
state = "works"
test = "tests/test_a.py::test_b"
"""
DIFFERS = """
[[row]]
seed = "001"
lines = "3, 20"
statement = "It | differs"
state = "differs"
sentence = "It is left out."
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    source = "async def test_b() -> None: ...\nclass TestC:\n    def test_d(self) -> None: ...\n"
    (tmp_path / "tests" / "test_a.py").write_text(source)
    return tmp_path


def test_a_named_test_that_exists_is_no_fault(root: Path) -> None:
    assert seeds.faults([seeds.seed_of("001", TITLE + WORKS + DIFFERS)], root) == []


@pytest.mark.parametrize("name", ["test_a.py::TestC::test_d", "test_a.py::test_b[one]"])
def test_a_test_of_a_class_or_with_a_parameter_is_found(root: Path, name: str) -> None:
    seed = seeds.seed_of("001", TITLE + WORKS.replace("test_a.py::test_b", name))
    assert seeds.faults([seed], root) == []


@pytest.mark.parametrize("name", ["test_a.py::test_c", "test_b.py::test_b"])
def test_a_named_test_that_does_not_exist_is_a_fault(root: Path, name: str) -> None:
    seed = seeds.seed_of("001", TITLE + WORKS.replace("test_a.py::test_b", name))
    (found,) = seeds.faults([seed], root)
    assert found == f"docs/seeds/001.toml: lines 12-14: no test tests/{name}"


NAMED = """
[[row]]
seed = "001"
lines = "12-14, 20"
statement = "It differs"
state = "differs"
sentence = "It is left out."
test = "tests/test_a.py::NAME"
"""


@pytest.mark.parametrize(
    "name",
    ["test_seed_001_line_13_a", "test_seed_001_line_5_and_20_a", "test_seed_001_line_1_to_12_a"],
)
def test_a_test_named_after_a_line_is_named_by_its_statement(root: Path, name: str) -> None:
    (root / "tests" / "test_a.py").write_text(f"def {name}() -> None: ...\n")
    seed = seeds.seed_of("001", TITLE + NAMED.replace("NAME", name))
    assert seeds.faults([seed], root) == []


@pytest.mark.parametrize("name", ["test_seed_001_line_15_a", "test_seed_002_line_13_a"])
def test_a_test_named_after_another_line_is_a_fault(root: Path, name: str) -> None:
    (root / "tests" / "test_a.py").write_text(f"def {name}() -> None: ...\n")
    seed = seeds.seed_of("001", TITLE + NAMED.replace("NAME", name))
    (found,) = seeds.faults([seed], root)
    assert found == (
        f"docs/seeds/{name[10:13]}.toml: no statement about its lines names tests/test_a.py::{name}"
    )


def test_several_tests_may_show_one_statement(root: Path) -> None:
    two = '["tests/test_a.py::test_b", "tests/test_a.py::test_c"]'
    seed = seeds.seed_of("001", TITLE + WORKS.replace('"tests/test_a.py::test_b"', two))
    assert len(seeds.faults([seed], root)) == 1


@pytest.mark.parametrize(
    "text",
    [
        WORKS.replace('"001"', '"002"'),
        WORKS.replace("12-14", "twelve"),
        WORKS.replace("::test_b", ""),
        WORKS.replace('"tests/test_a.py::test_b"', "[]"),
        WORKS.replace('"works"', '"differs"'),
        WORKS + 'sentence = "Both."\n',
        DIFFERS.replace('"It is left out."', '""'),
        DIFFERS + 'test = "no test"\n',
        DIFFERS.replace('"differs"', '"missing"'),
    ],
)
def test_a_row_of_another_shape_is_refused(text: str) -> None:
    with pytest.raises(seeds.SeedListError, match=r"001\.toml: expected seed, lines"):
        seeds.seed_of("001", TITLE + text)


def test_a_list_without_a_title_is_refused() -> None:
    with pytest.raises(seeds.SeedListError, match=r"001\.toml: expected title and rows"):
        seeds.seed_of("001", WORKS)


def test_the_page_shows_tests_and_sentences() -> None:
    page = seeds.page_of([seeds.seed_of("001", TITLE + WORKS + DIFFERS)])
    both = seeds.page_of([seeds.seed_of("001", TITLE + NAMED)])
    assert "| differs | It is left out.<br>`tests/test_a.py::NAME` |" in both
    assert "| 12-14 | It works | works | `tests/test_a.py::test_b` |" in page
    assert r"| 3, 20 | It \| differs | differs | It is left out. |" in page
    assert "Of 2 statements 1 work and 1 differ." in page


def test_every_test_that_the_project_names_exists() -> None:
    assert seeds.faults(seeds.read(ROOT), ROOT) == []


def test_the_page_is_among_the_generated_files() -> None:
    assert "docs/seeds.md" in [each.path for each in generate.GENERATED]
