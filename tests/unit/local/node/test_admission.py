"""Pod admission on the node."""

from typing import Any

import pytest

from tfjob.local.node.admission import ignored_fields, rejection

OK: dict[str, Any] = {"name": "c", "command": ["true"]}


def pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": list(containers), **spec}}


def test_a_pod_with_commands_is_admitted() -> None:
    assert rejection(pod(OK, initContainers=[OK])) is None


@pytest.mark.parametrize(
    ("refused", "reason", "words"),
    [
        (pod({"name": "a", "image": "tf"}), "NoCommand", "container a: images do not run"),
        (pod({"name": "a", "args": ["x"]}, {"name": "b"}), "NoCommand", "containers a, b:"),
        (pod(OK, initContainers=[{"name": "i"}]), "NoCommand", "container i:"),
        (
            pod(OK, initContainers=[{**OK, "name": "s", "restartPolicy": "Always"}]),
            "UnsupportedSidecar",
            "are not supported here: s",
        ),
        (pod(OK, volumes=[{"name": "v", "nfs": {}}]), "UnsupportedVolume", "type nfs"),
    ],
)
def test_a_pod_that_can_never_run_is_rejected(
    refused: dict[str, Any], reason: str, words: str
) -> None:
    verdict = rejection(refused)
    assert verdict is not None
    assert verdict.reason == reason
    assert words in verdict.message


def test_fields_without_effect_are_named() -> None:
    probed = {**OK, "readinessProbe": {"exec": {}}, "lifecycle": {"preStop": {}}}
    mounted = {**OK, "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True}]}
    assert ignored_fields(pod(probed, mounted, affinity={"nodeAffinity": {}})) == (
        "lifecycle",
        "readinessProbe",
        "spec.affinity",
        "volumeMounts.readOnly",
    )


def test_empty_fields_are_not_listed_as_without_effect() -> None:
    assert (
        ignored_fields(pod({**OK, "securityContext": {}}, securityContext={}, affinity=None)) == ()
    )
