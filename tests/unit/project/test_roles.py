"""The chart's rules say what the table of permissions says."""

import re
from pathlib import Path
from typing import Any

import yaml

from tfjob.manager.permissions import PERMISSIONS
from tools import roles

_DEFINE = re.compile(r'{{- define "tfjob\.rules\.([\w.]+)" -}}\n(.*?){{- end -}}', re.DOTALL)


def rules() -> dict[str, list[dict[str, Any]]]:
    text = roles.page(Path()).replace('{{ include "tfjob.leaseName" . | quote }}', "the-lease")
    return {need: yaml.safe_load(body) for need, body in _DEFINE.findall(text)}


def test_each_need_has_a_template_of_its_own() -> None:
    assert rules().keys() == {each.need for each in PERMISSIONS}


def test_rules_hold_each_permission_and_no_other() -> None:
    written = {
        (need, *rule["apiGroups"], *rule["resources"], verb)
        for need, found in rules().items()
        for rule in found
        for verb in rule["verbs"]
    }
    declared = {
        (each.need, each.resource.group, each.name, verb)
        for each in PERMISSIONS
        for verb in each.verbs
    }
    assert written == declared


def test_only_the_lease_in_use_can_be_read_and_written() -> None:
    create, rest = rules()["leadership"]
    assert ("resourceNames" in create, create["verbs"]) == (False, ["create"])
    assert (rest["resourceNames"], rest["verbs"]) == (["the-lease"], ["get", "update"])


def test_reason_of_each_rule_stands_above_it() -> None:
    page = " ".join(roles.page(Path()).replace("#", "").split())
    assert all(f"{each.why} - apiGroups" in page for each in PERMISSIONS)
