"""Every target of the fuzzer takes its seeds, and refuses noise as it documents."""

from pathlib import Path

import pytest

from tools import fuzz

NOISE = (b"", b"\x00\xff", b"{" * 50, b"[1, 2", b"a: &a [*a]\n", b"\r\n\r\n", "é".encode("utf-16"))


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_a_target_reads_its_seeds_and_lets_no_noise_through_as_a_crash(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fuzz.FOLDER.mkdir()
    run = fuzz.TARGETS[name]()
    for each in (*fuzz.SEEDS[name], *NOISE):
        run(each)


def test_a_target_that_does_not_exist_is_rejected_by_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        fuzz.main(["no-such-target"])
    assert "no target no-such-target; there are watch, http" in capsys.readouterr().err
