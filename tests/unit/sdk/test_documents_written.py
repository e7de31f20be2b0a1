from typing import Any

import pytest
import yaml

from tfjob.sdk.documents import as_yaml


def test_shared_parts_are_written_out() -> None:
    shared = {"a": [1]}
    assert as_yaml({"b": shared, "c": shared}) == "b:\n  a:\n  - 1\nc:\n  a:\n  - 1\n"


@pytest.mark.parametrize("value", ["1e3", "0o7", "y", "N", "no", "null", "3", "ü", "a: b", None, 3])
def test_value_is_read_back_as_it_was(value: Any) -> None:
    text = as_yaml({"v": value})
    assert yaml.safe_load(text) == {"v": value}
    assert (text.startswith("v: '")) == (
        value in {"1e3", "0o7", "y", "N", "no", "null", "3", "a: b"}
    )
