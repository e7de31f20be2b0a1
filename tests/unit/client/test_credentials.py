"""Credentials that rotate."""

import os
from pathlib import Path

import pytest

from tests.support.fake_time import FakeTime
from tfjob.client.credentials import ConfigError, StaticHeader, TokenFile, basic, bearer


def write(path: Path, token: str, *, modified: int) -> None:
    path.write_text(f"{token}\n")
    os.utime(path, ns=(modified, modified))


async def test_a_rotated_token_is_used_within_a_minute(tmp_path: Path) -> None:
    path, time = tmp_path / "token", FakeTime()
    write(path, "old", modified=1)
    token = TokenFile(path, clock=time.time)
    write(path, "new", modified=2)
    await time.advance(59)
    assert await token.header() == "Bearer old"
    await time.advance(1)
    assert await token.header() == "Bearer new"


async def test_a_rejected_token_is_read_again_at_once(tmp_path: Path) -> None:
    path = tmp_path / "token"
    write(path, "old", modified=1)
    token = TokenFile(path)
    write(path, "new", modified=1)
    assert token.renew("Bearer old")
    assert await token.header() == "Bearer new"


async def test_a_rejected_token_that_has_not_changed_is_not_worth_another_try(
    tmp_path: Path,
) -> None:
    path = tmp_path / "token"
    write(path, "same", modified=1)
    assert not TokenFile(path).renew("Bearer same")


async def test_the_last_token_stays_in_use_while_the_file_is_missing_or_empty(
    tmp_path: Path,
) -> None:
    path, time = tmp_path / "token", FakeTime()
    write(path, "kept", modified=1)
    token = TokenFile(path, clock=time.time)
    path.unlink()
    await time.advance(61)
    assert await token.header() == "Bearer kept"
    write(path, "", modified=2)
    await time.advance(61)
    assert await token.header() == "Bearer kept"
    write(path, "back", modified=2)
    await time.advance(61)
    assert await token.header() == "Bearer back"


@pytest.mark.parametrize("content", [None, "", "  \n"])
def test_a_token_file_without_a_token_is_an_error_at_the_start(
    tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigError, match="is needed"):
        TokenFile(path)


async def test_fixed_headers_are_what_the_protocols_say() -> None:
    assert await bearer(" t\n").header() == "Bearer t"
    assert await basic("me", "secret").header() == "Basic bWU6c2VjcmV0"
    assert await StaticHeader().header() is None
    assert not bearer("t").renew("Bearer t")
