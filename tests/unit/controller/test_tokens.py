"""Random tokens for generated names."""

from tfjob.controller.tokens import random_token


def test_token_fits_into_a_name_and_is_another_each_time() -> None:
    found = [random_token() for _ in range(50)]
    assert all(len(each) == 4 and each.isascii() and each.isalnum() for each in found)
    assert all(each == each.lower() for each in found)
    assert len(set(found)) > 1
