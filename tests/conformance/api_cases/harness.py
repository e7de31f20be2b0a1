"""Plays API cases against a server and makes answers of two servers comparable.

A case is a list of requests with names for what differs between servers ({ns}, {saved values});
those listed under `named` are shown by their names in the answers.
Answers are normalised: UIDs, times, revisions, addresses and ages become names, so that equality
between two values is kept while the values themselves are not.
"""

import asyncio
import base64
import json
import re
import ssl
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from tests.support.patience import PATIENCE

Json = dict[str, Any]
FOLDER = Path(__file__).parent
PATCHES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
_ACCEPT = {"table": TABLE, "partial": PARTIAL, "partial-list": PARTIAL_LIST}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ADDRESS = re.compile(r"\b10\.96\.\d+\.\d+\b")
_AGES = frozenset({"Age", "Last Seen", "First Seen", "Duration"})


class Target:
    """A server to play against."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.session = session
        self.url = url


def load_cases() -> list[tuple[str, Json]]:
    """(file, case) of every case, in order."""
    found = []
    for path in sorted(FOLDER.glob("*.yaml")):
        found += [(path.stem, case) for case in yaml.safe_load(path.read_text())]
    return found


def target_of(kubeconfig: Path) -> Target:
    """A client by the credentials of a kubeconfig."""
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    context = ssl.create_default_context()
    if "certificate-authority" in cluster:
        context.load_verify_locations(cluster["certificate-authority"])
    if "certificate-authority-data" in cluster:
        data = base64.b64decode(cluster["certificate-authority-data"]).decode()
        context.load_verify_locations(cadata=data)
    if "client-certificate" in user:
        context.load_cert_chain(user["client-certificate"], user["client-key"])
    headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
    connector = aiohttp.TCPConnector(ssl=context)
    return Target(aiohttp.ClientSession(connector=connector, headers=headers), cluster["server"])


async def play(target: Target, case: Json) -> list[Json]:
    """Run a case in a namespace of its own; the normalised answer of every step."""
    names = {"ns": f"case-{uuid.uuid4().hex[:8]}"}
    namer = _Namer()
    await _request(target, "POST", "/api/v1/namespaces", body={"metadata": {"name": names["ns"]}})
    await _wait_for_account(target, names["ns"])
    answers = []
    try:
        for step in case["steps"]:
            answer = await _step(target, step, names)
            for name, path in (step.get("save") or {}).items():
                names[name] = _at(answer["body"], path)
            if not step.get("hide"):
                shown = _shown(answer, step.get("only"))
                known = {"ns", *(case.get("named") or ())}
                namer.tokens |= {value: f"<{key}>" for key, value in names.items() if key in known}
                answers.append(namer.normalised(shown))
    finally:
        for path in case.get("cleanup") or ():
            await _request(target, "DELETE", path.format(**names))
        await _request(target, "DELETE", f"/api/v1/namespaces/{names['ns']}")
    return answers


async def _wait_for_account(target: Target, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
    deadline = time.monotonic() + PATIENCE
    while (await _request(target, "GET", path))["code"] != 200:
        assert time.monotonic() < deadline, f"{path} never came"
        await asyncio.sleep(0.05)


async def _step(target: Target, step: Json, names: dict[str, str]) -> Json:
    method, path = step["do"].split(" ", 1)
    body = step.get("body")
    if body is not None and not isinstance(body, str):
        body = json.loads(_filled(json.dumps(body), names))
    elif body is not None:
        body = _filled(body, names)
    deadline = time.monotonic() + PATIENCE
    while True:
        answer = await _request(
            target,
            method,
            _filled(path, names),
            body=body,
            content_type=PATCHES.get(
                step.get("type", ""), str(step.get("type", "application/json"))
            ),
            accept=_ACCEPT.get(step.get("accept", ""), str(step.get("accept", "application/json"))),
        )
        if "until" not in step or _is_reached(answer, step["until"]):
            return answer
        assert time.monotonic() < deadline, (
            f"{step['do']}: {step['until']} was not reached, the last answer was {answer}"
        )
        await asyncio.sleep(0.1)


def _is_reached(answer: Json, wanted: Json) -> bool:
    if "code" in wanted and answer["code"] != wanted["code"]:
        return False
    try:
        return all(
            _at(answer["body"], path) == value for path, value in (wanted.get("at") or {}).items()
        )
    except (KeyError, IndexError, TypeError):
        return False


def _filled(text: str, names: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda m: names.get(m[1], m[0]), text)


async def _request(
    target: Target,
    method: str,
    path: str,
    *,
    body: Any = None,
    content_type: str = "application/json",
    accept: str = "application/json",
) -> Json:
    data = body if isinstance(body, str) else None if body is None else json.dumps(body)
    headers = {"Accept": accept}
    if data is not None:
        headers["Content-Type"] = content_type
    async with target.session.request(method, target.url + path, data=data, headers=headers) as got:
        text = await got.text()
        return {
            "code": got.status,
            "body": _parsed(text),
            "warnings": sorted(got.headers.getall("Warning", [])),
        }


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines() if line]
    except ValueError:
        return text


def _at(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = value[int(part)] if part.isdigit() and isinstance(value, list) else value[part]
    return value


def _shown(answer: Json, only: list[str] | None) -> Json:
    kept = {k: v for k, v in answer.items() if k != "warnings" or v}
    if only is None:
        return kept
    shown: Json = {"code": answer["code"]}
    for path in only:
        try:
            shown[path] = _at(answer["body"], path)
        except (KeyError, IndexError, TypeError):
            shown[path] = "<absent>"
    return shown


class _Namer:
    """Gives every server-made value a name in order of its first appearance."""

    def __init__(self) -> None:
        self.tokens: dict[str, str] = {}
        self._revisions: dict[str, str] = {}

    def normalised(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            return [self.normalised(item, key) for item in value]
        if isinstance(value, str):
            return self._text(value, key)
        return value

    def _object(self, value: Json) -> Json:
        if value.get("kind") == "Table":
            value = _plain_table(value)
        if isinstance(value.get("columnDefinitions"), list):
            value = {
                **value,
                "columnDefinitions": [_plain_column(c) for c in value["columnDefinitions"]],
            }
        is_collection = isinstance(value.get("items"), list) or value.get("kind") == "Table"
        if is_collection and "resourceVersion" in (value.get("metadata") or {}):
            # How far the whole server had come, which others have a part in.
            value = {**value, "metadata": {**value["metadata"], "resourceVersion": "<list>"}}
        if "metadata" in value and isinstance(value["metadata"], dict):
            value = {**value, "metadata": self._meta(value["metadata"])}
        if isinstance(value.get("spec"), dict):
            value = {**value, "spec": _without_account(value["spec"])}
        return {self._text(k, ""): self.normalised(v, k) for k, v in value.items()}

    def _meta(self, meta: Json) -> Json:
        meta = {k: v for k, v in meta.items() if k != "managedFields"}
        prefix = meta.get("generateName")
        if prefix and str(meta.get("name", "")).startswith(prefix):
            self.tokens[meta["name"]] = f"{prefix}<tail>"
        return meta

    def _text(self, text: str, key: str) -> str:
        if key == "resourceVersion" and text.isdigit():
            return self._revisions.setdefault(text, f"<rv-{len(self._revisions) + 1}>")
        if key == "continue":
            return "<continue>"
        for value in sorted(self.tokens, key=len, reverse=True):
            text = text.replace(value, self.tokens[value])
        text = _UID.sub(lambda m: self.tokens.setdefault(m[0], f"<uid-{len(self.tokens)}>"), text)
        text = _ADDRESS.sub("<address>", text)
        return _TIME.sub("<time>", text)


def _plain_table(table: Json) -> Json:
    """Ages pass."""
    columns = table.get("columnDefinitions")
    if columns is None:
        return table
    ages = {i for i, column in enumerate(columns) if column["name"] in _AGES}
    rows = [
        {**row, "cells": ["<age>" if i in ages else cell for i, cell in enumerate(row["cells"])]}
        for row in table.get("rows") or ()
    ]
    return {**table, "rows": rows}


def _plain_column(column: Json) -> Json:
    return {k: v for k, v in column.items() if k != "description"}


def _without_account(spec: Json) -> Json:
    """The mounted account token of a real server, which the local one leaves out."""
    spec = dict(spec)
    if isinstance(spec.get("volumes"), list):
        rest = [
            v for v in spec["volumes"] if not str(v.get("name", "")).startswith("kube-api-access-")
        ]
        spec.pop("volumes")
        if rest:
            spec["volumes"] = rest
    for field in ("containers", "initContainers"):
        if isinstance(spec.get(field), list):
            spec[field] = [_without_mount(c) if isinstance(c, dict) else c for c in spec[field]]
    return spec


def _without_mount(container: Json) -> Json:
    container = dict(container)
    mounts = container.get("volumeMounts")
    if isinstance(mounts, list):
        rest = [m for m in mounts if not str(m.get("name", "")).startswith("kube-api-access-")]
        container.pop("volumeMounts")
        if rest:
            container["volumeMounts"] = rest
    return container


def expected(file: str) -> Json:
    """Recorded answers of a real server, by case."""
    path = FOLDER / "expected" / f"{file}.json"
    return dict(json.loads(path.read_text())) if path.exists() else {}


def recordings() -> list[Path]:
    return sorted((FOLDER / "expected").glob("*.json"))


def record(file: str, name: str, answers: list[Json]) -> None:
    path = FOLDER / "expected" / f"{file}.json"
    known = {**expected(file), name: answers}
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as draft:
        draft.write(json.dumps(dict(sorted(known.items())), indent=1, sort_keys=True) + "\n")
    Path(draft.name).replace(path)
