"""Every request is answered, and never with an internal error."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tfjob.local.apiserver import bootstrap
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.request import Answer
from tfjob.local.apiserver.router import HttpRequest, answer
from tfjob.local.apiserver.store import Store

Json = dict[str, Any]
ROOTS = {
    "Pod": "/api/v1/namespaces/default/pods",
    "Service": "/api/v1/namespaces/default/services",
    "ConfigMap": "/api/v1/namespaces/default/configmaps",
    "Secret": "/api/v1/namespaces/default/secrets",
    "Event": "/api/v1/namespaces/default/events",
    "Namespace": "/api/v1/namespaces",
    "Node": "/api/v1/nodes",
    "Lease": "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    "Job": "/apis/batch/v1/namespaces/default/jobs",
    "Deployment": "/apis/apps/v1/namespaces/default/deployments",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "Widget": "/apis/example.com/v1/namespaces/default/widgets",
}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
WIDGETS: Json = {
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                    },
                },
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "replicas": {"type": "integer", "default": 1},
                                    "containers": {"type": "array", "items": {"type": "object"}},
                                },
                                "x-kubernetes-validations": [{"rule": "self.replicas < 5"}],
                            }
                        },
                    }
                },
            }
        ],
    },
}
KEYS = [
    *("metadata", "name", "namespace", "labels", "annotations", "finalizers", "ownerReferences"),
    *("uid", "generateName", "spec", "status", "containers", "image", "ports", "containerPort"),
    *("port", "env", "value", "replicas", "template", "selector", "matchLabels", "data", "type"),
    *("versions", "names", "group", "scope", "schema", "openAPIV3Schema", "properties"),
    *("conditions", "x-kubernetes-validations"),
]
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def backend() -> Backend:
    folder = tempfile.mkdtemp()
    backend = Backend(Store(Path(folder) / "objects.sqlite"))
    bootstrap.ensure(backend)
    made = ask(backend, "POST", ROOTS["CustomResourceDefinition"], WIDGETS)
    assert made.code == 201, made.body
    return backend


def ask(
    backend: Backend,
    method: str,
    path: str,
    body: Any,
    *,
    media: str = "application/json",
    accept: str = "application/json",
) -> Answer:
    incoming = HttpRequest(
        method=method,
        path=path,
        body=msgspec.json.encode(body),
        content_type=media,
        accept=accept,
    )
    found = asyncio.run(answer(backend, incoming))
    assert isinstance(found, Answer)
    return found


def widget_head(kind: str) -> Json:
    return {"apiVersion": "example.com/v1", "kind": "Widget"} if kind == "Widget" else {}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=st.sampled_from(sorted(ROOTS)), body=VALUES, name=st.sampled_from(["a", "B", ""]))
def test_any_body_is_accepted_or_rejected_with_a_status(
    backend: Backend, kind: str, body: Any, name: str
) -> None:
    sent = body
    if isinstance(body, dict):
        meta = body.get("metadata")
        named = {**meta, "name": name} if isinstance(meta, dict) else {"name": name}
        sent = {**body, **widget_head(kind), "metadata": named}
    made = ask(backend, "POST", ROOTS[kind], sent)
    assert made.code < 500 or b"resourceVersion should not be set" in made.body, made.body
    if made.code == 201:
        kept = msgspec.json.decode(made.body)["metadata"]["name"]
        shown = ask(backend, "GET", f"{ROOTS[kind]}/{kept}", None, accept=TABLE)
        assert shown.code == 200, shown.body
        assert ask(backend, "DELETE", f"{ROOTS[kind]}/{kept}", {}).code == 200


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    kind=st.sampled_from(["Pod", "ConfigMap", "Widget"]),
    change=VALUES,
    media=st.sampled_from(["merge-patch+json", "json-patch+json", "strategic-merge-patch+json"]),
    below=st.sampled_from(["", "/status", "/scale"]),
)
def test_any_patch_is_accepted_or_rejected_with_a_status(
    backend: Backend, kind: str, change: Any, media: str, below: str
) -> None:
    path = f"{ROOTS[kind]}/patched"
    spec = {"containers": [{"name": "a", "image": "b"}]} if kind == "Pod" else {}
    first = {**widget_head(kind), "metadata": {"name": "patched"}}
    ask(backend, "POST", ROOTS[kind], first if kind == "ConfigMap" else {**first, "spec": spec})
    patched = ask(backend, "PATCH", path + below, change, media=f"application/{media}")
    assert patched.code < 500, patched.body
    ask(backend, "DELETE", path, {})


def test_scale_without_readable_metadata_is_rejected(backend: Backend) -> None:
    ask(backend, "POST", ROOTS["Widget"], {**widget_head("Widget"), "metadata": {"name": "w"}})
    path, media = f"{ROOTS['Widget']}/w/scale", "application/merge-patch+json"
    refused = ask(backend, "PATCH", path, {"metadata": True}, media=media)
    assert refused.code == 400
    assert b"metadata must be an object, got True; nothing was changed" in refused.body
    ask(backend, "DELETE", f"{ROOTS['Widget']}/w", {})


@settings(max_examples=60, deadline=None)
@given(schema=VALUES)
def test_any_schema_is_accepted_or_rejected_with_a_status(backend: Backend, schema: Any) -> None:
    version = {**WIDGETS["spec"]["versions"][0], "schema": {"openAPIV3Schema": schema}}
    spec = {**WIDGETS["spec"], "group": "other.com", "versions": [version]}
    body = {"metadata": {"name": "widgets.other.com"}, "spec": spec}
    made = ask(backend, "POST", ROOTS["CustomResourceDefinition"], body)
    assert made.code < 500, made.body
    ask(backend, "DELETE", f"{ROOTS['CustomResourceDefinition']}/widgets.other.com", {})
