"""A new dialect needs its own folder and an entry in the registry, and nothing else."""

import json
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.fake_checkout import FOLDER, REGISTRY, ROOT, FakeCheckout
from tests.support.fake_dialect import FakeDialect, fake_job
from tools.generate import GENERATED

GUIDE = (ROOT / "docs" / "guide" / "add-a-dialect.md").read_text("utf-8")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> FakeCheckout:
    return FakeCheckout(tmp_path_factory.mktemp("checkout"))


def test_registry_is_the_only_file_outside_of_the_folder_that_a_hand_touches(
    checkout: FakeCheckout,
) -> None:
    outside = {each for each in checkout.by_hand if not each.startswith(f"{FOLDER}/")}
    assert outside == {REGISTRY}
    inside = checkout.by_hand - outside
    assert inside == {f"{FOLDER}/{each}.py" for each in ("__init__", "v1", "descriptor")}


def test_guide_names_the_files_that_are_touched_and_no_others(checkout: FakeCheckout) -> None:
    assert f"{len(checkout.by_hand)} files by hand" in GUIDE
    assert f"{len(checkout.generated)} by `make generate`" in GUIDE
    for each in (*checkout.by_hand, *checkout.generated):
        assert f"`{each}`" in GUIDE, each


def test_generated_files_are_current_and_known(checkout: FakeCheckout) -> None:
    assert "current" in checkout.generate("--check")
    added = "charts/tfjob/files/crds/toy.example_toyjobs.yaml"
    assert checkout.generated <= {added, *(each.path for each in GENERATED)}
    assert yaml.safe_load((checkout.root / added).read_text()) == FakeDialect().crd()


def test_chart_knows_its_switch_its_flag_and_its_rights(checkout: FakeCheckout) -> None:
    chart = checkout.root / "charts" / "tfjob"
    values = yaml.safe_load((chart / "values.yaml").read_text())
    assert values["dialects"]["toy"] is False
    assert values["operator"]["toyBoards"] == "off"
    schema = json.loads((chart / "values.schema.json").read_text())["properties"]
    assert schema["dialects"]["properties"]["toy"] == {"type": "boolean"}
    assert schema["operator"]["properties"]["toyBoards"] == {"enum": ["off", "on"]}
    rules = (chart / "templates" / "_rules.tpl").read_text()
    assert '"tfjob.rules.toy"' in rules
    assert '"tfjob.rules.toy.boards"' in rules


def test_operator_serves_it_and_accepts_its_flag(checkout: FakeCheckout) -> None:
    told = " ".join(checkout.tfjob("operator", "--help").split())
    assert "tensorflowtrainingjob, toyjob" in told
    assert "--toy-boards {off,on}" in told


def test_its_jobs_are_understood_by_the_verbs(checkout: FakeCheckout, tmp_path: Path) -> None:
    file = tmp_path / "toy.yaml"
    file.write_text(yaml.safe_dump(fake_job()))
    assert "valid" in checkout.tfjob("validate", str(file))
    assert "toy-xxxx-0" in checkout.tfjob("plan", str(file))


def test_import_contracts_hold_without_a_change(checkout: FakeCheckout) -> None:
    linter = str(Path(sys.executable).with_name("lint-imports"))
    told = checkout.run(linter, "--config", ".importlinter", "--no-cache")
    assert "0 broken" in told
