"""The bill of materials names what the lock pins, the same each time."""

from pathlib import Path

import pytest

from tools import sbom

LOCK = Path(__file__).parents[3] / "requirements" / "runtime.txt"
TEXT = """\
# a comment
Zope.Interface==5.0 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
attrs==26.1.0 ; python_version < '3.13' \\
    --hash=sha256:cc
"""


def test_every_pinned_package_is_a_component_in_the_order_of_names() -> None:
    components = sbom.bill_of(TEXT)["components"]
    assert [(each["name"], each["version"], each["purl"]) for each in components] == [
        ("Zope.Interface", "5.0", "pkg:pypi/zope-interface@5.0"),
        ("attrs", "26.1.0", "pkg:pypi/attrs@26.1.0"),
    ]
    marker = {"name": "python:marker", "value": "python_version < '3.13'"}
    assert components[1]["properties"] == [marker]


def test_the_same_lock_gives_the_same_bill_and_another_one_another_number() -> None:
    assert sbom.bill_of(TEXT) == sbom.bill_of(TEXT)
    other = sbom.bill_of(TEXT.replace("5.0", "5.1"))
    assert other["serialNumber"] != sbom.bill_of(TEXT)["serialNumber"]


def test_a_line_that_pins_nothing_is_rejected_by_its_number() -> None:
    with pytest.raises(sbom.LockError, match="line 7: expected NAME==VERSION"):
        sbom.bill_of(TEXT + "yarl>=1\n")


def test_a_lock_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert sbom.main(["no-such-lock.txt"]) == 1
    assert "sbom: no-such-lock.txt: " in capsys.readouterr().err


def test_the_bill_of_the_project_names_every_package_of_its_runtime_lock() -> None:
    text = LOCK.read_text("utf-8")
    bill = sbom.bill_of(text)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert len(bill["components"]) == text.count("==")
