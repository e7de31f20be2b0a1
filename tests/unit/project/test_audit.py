"""The audit reports vulnerabilities, and never calls a package clean that was not looked up."""

import json

import pytest

from tools import audit

CLEAN = {"name": "a", "version": "1", "vulns": []}
BAD = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]}
UNKNOWN = {"name": "c", "skip_reason": "Dependency not found"}


def answer(*packages: object) -> audit.Look:
    return lambda _lock: json.dumps({"dependencies": packages})


def test_a_lock_without_known_vulnerabilities_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit.main(["x.txt"], answer(CLEAN)) == 0
    assert capsys.readouterr().out == "audit: x.txt: 1 packages, no known vulnerability\n"


def test_a_vulnerability_fails_the_audit_and_names_its_remedy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert audit.main(["x.txt"], answer(CLEAN, BAD)) == 1
    assert capsys.readouterr().out == "audit: x.txt: b 2: CVE-1, fixed in 3\n"


def test_packages_that_the_service_does_not_know_are_not_called_clean(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert audit.main(["x.txt"], answer(CLEAN, UNKNOWN)) == 0
    told = "audit: SKIPPED 1 of 2 packages of x.txt: unknown to the vulnerability service\n"
    assert capsys.readouterr().out == told


def test_a_service_that_cannot_be_reached_is_one_line_for_all_locks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def silent(_lock: str) -> str:
        raise OSError("connection refused")

    assert audit.main(["x.txt", "y.txt"], silent) == 0
    told = "the vulnerability service did not answer: connection refused"
    assert capsys.readouterr().out == f"audit: SKIPPED, nothing could be looked up: {told}\n"
    assert audit.main(["x.txt", "y.txt"], answer(UNKNOWN)) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_a_lock_without_an_answer_is_reported_with_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def half(lock: str) -> str:
        return "<html>" if lock == "x.txt" else answer(CLEAN)(lock)

    assert audit.main(["x.txt", "y.txt"], half) == 0
    skipped, clean = capsys.readouterr().out.splitlines()
    assert skipped.startswith("audit: SKIPPED x.txt: the vulnerability service did not answer")
    assert clean == "audit: y.txt: 1 packages, no known vulnerability"
