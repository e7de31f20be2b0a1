"""Quantities are parsed and added exactly, and rendered canonically."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.k8s.json_values import JSON
from tfjob.k8s.quantity import Form, Quantity, parse

QUANTITIES = st.builds(Quantity, st.integers(), st.sampled_from(Form))


def read(text: object) -> Quantity:
    amount = parse(text)
    assert amount is not None, text
    return amount


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("0Gi", "0"),
        ("100m", "100m"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("1.", "1"),
        ("1.5", "1500m"),
        ("+5", "5"),
        ("-100m", "-100m"),
        ("1000m", "1"),
        ("1000", "1k"),
        ("1k", "1k"),
        ("128974848", "128974848"),
        ("1E", "1E"),
        ("1000E", "1000E"),
        ("1Gi", "1Gi"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("1023Ki", "1023Ki"),
        ("1Ki", "1Ki"),
        ("0.5Ki", "512"),
        ("0.0001Ki", "102400u"),
        ("1.0001Ki", "1024102400u"),
        ("-2048Ki", "-2Mi"),
        ("9Ei", "9223372036854775807"),
        ("-9Ei", "-9223372036854775807"),
        ("2e3", "2e3"),
        ("2E3", "2e3"),
        ("20e2", "2e3"),
        ("1e0", "1"),
        ("1e1", "10"),
        ("5e-1", "500e-3"),
        ("1e21", "1e21"),
        ("0.1n", "1n"),
        ("-1e-12", "-1e-9"),
        ("12345678901234567890123", "12345678901234567890123"),
        (" 1 ", "1"),
        (2, "2"),
        (0.1, "100m"),
        (1e22, "10e21"),
    ],
)
def test_canonical_text(text: object, canonical: str) -> None:
    assert read(text).render() == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "Mi",
        "-",
        "1i",
        "1K",
        "1mi",
        "1Ee",
        "1e",
        "1e+",
        "1m3",
        "1Gi3",
        "1.1.M",
        "1+1.0M",
        "1,5",
        "1 Gi",
        "0x10",
        "\N{ARABIC-INDIC DIGIT ONE}",
        "1e2000000000",
        "1e-2000000000",
        "9" * 5000,
        "inf",
        float("nan"),
        float("inf"),
        True,
        None,
        [],
        {},
        b"1",
    ],
)
def test_what_is_no_quantity_is_none(text: object) -> None:
    assert parse(text) is None


@given(JSON)
def test_parse_never_raises_on_arbitrary_json(value: object) -> None:
    assert parse(value) is None or isinstance(value, str | int | float)


@given(QUANTITIES)
def test_canonical_text_reads_back_as_the_same_number(amount: Quantity) -> None:
    assert read(amount.render()) == amount


@given(QUANTITIES)
def test_canonical_text_is_a_fixed_point(amount: Quantity) -> None:
    assert read(amount.render()).render() == amount.render()


@given(QUANTITIES, QUANTITIES, QUANTITIES)
def test_addition_is_exact(one: Quantity, two: Quantity, three: Quantity) -> None:
    assert (one + two) + three == one + (two + three)
    assert one + two == two + one
    assert (one + two).nano == one.nano + two.nano


def test_quantities_compare_by_number_not_by_spelling() -> None:
    assert read("1Gi") == read("1073741824")
    assert hash(read("1Gi")) == hash(read("1073741824"))
    assert read("999m") < read("1") < read("1.000000001") < read("1k") < read("1Ki")
    assert read("-1") < read("0")


def test_a_sum_prints_like_its_first_operand() -> None:
    assert (read("1Gi") + read("1048576")).render() == "1025Mi"
    assert (read("1G") + read("1Gi")).render() == "2073741824"
    assert (read("2e3") + read("1k")).render() == "3e3"


def test_a_zero_first_operand_leaves_the_form_to_the_second() -> None:
    assert (read("0") + read("1024Mi")).render() == "1Gi"


@pytest.mark.parametrize(
    ("text", "units"),
    [("1", 1), ("1m", 1), ("1001m", 2), ("1Ki", 1024), ("0", 0), ("-1500m", -2)],
)
def test_rounding_goes_away_from_zero(text: str, units: int) -> None:
    assert read(text).rounded_up() == units
