"""A job that cannot be parsed is reported and left alone, and does not affect other jobs."""

import logging
from contextlib import AbstractAsyncContextManager as Opened

import msgspec
import pytest

from tests.support.builders import NOW
from tests.support.controller_harness import KEY, ControllerHarness
from tests.support.hostile import DEPTHS, nested
from tests.support.tfjobs import tfjob
from tfjob.controller.job_object import JobObject, Unreadable
from tfjob.core.invalid_job import InvalidJob, reject
from tfjob.core.plan import Plan
from tfjob.dialects.base import Settings
from tfjob.dialects.kubeflow import spec as kubeflow_spec
from tfjob.dialects.registry import DIALECTS
from tfjob.dialects.rule_check import RuleTree
from tfjob.dialects.schema import record, rule
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.nesting import CUT, pruned


def break_job(harness: ControllerHarness, **parts: bytes) -> None:
    """Put a job with these raw parts into the store."""
    known = harness.stores.jobs.get(KEY)
    assert known is not None
    raw = {name: msgspec.Raw(text) for name, text in parts.items()}
    harness.stores.jobs.put(JobObject(metadata=known.metadata, **raw))


@pytest.mark.parametrize("part", ["spec", "status"])
@pytest.mark.parametrize("depth", DEPTHS)
async def test_pods_of_a_job_that_became_too_deep_are_left_alone_and_an_event_says_so(
    controller: Opened[ControllerHarness], caplog: pytest.LogCaptureFixture, part: str, depth: int
) -> None:
    caplog.set_level(logging.WARNING)
    async with controller as harness:
        await harness.submit("W2")
        await harness.one_pass()
        await harness.look()
        before = await harness.job()
        break_job(harness, **{part: nested(depth)})
        for _ in range(2):
            await harness.reconciler.reconcile(KEY)
        assert await harness.server.names("pods") == ["j-worker-0", "j-worker-1"]
        assert await harness.job() == before
        told = [message for kind, _, message in await harness.told() if kind == "Warning"]
    assert len(told) == 1
    assert "nested more than 100 levels deep" in told[0]
    lines = [each for each in caplog.records if "cannot be parsed" in each.getMessage()]
    assert [(vars(each)["namespace"], vars(each)["job"]) for each in lines] == [("default", "j")]


async def test_pods_of_a_job_that_we_cannot_check_are_left_alone_and_its_user_is_told(
    controller: Opened[ControllerHarness],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.WARNING)
    broken = RuleTree(record("R.", {}, rules=[rule("self.none.deeper == 1", "m")]))
    async with controller as harness:
        await harness.submit("W2")
        await harness.one_pass()
        await harness.look()
        before = await harness.job()
        monkeypatch.setattr(kubeflow_spec, "_rules", lambda: broken)
        break_job(harness, spec=msgspec.json.encode({**tfjob("W2")["spec"], "successPolicy": ""}))
        for _ in range(2):
            await harness.reconciler.reconcile(KEY)
        assert await harness.server.names("pods") == ["j-worker-0", "j-worker-1"]
        assert await harness.job() == before
        told = [message for kind, _, message in await harness.told() if kind == "Warning"]
    assert len(told) == 1
    assert "Internal error: the rule 'self.none.deeper == 1' cannot be evaluated" in told[0]
    assert "self.none.deeper" in str([vars(each).get("fault") for each in caplog.records])


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda each: f"{each.group}/{each.version}")
@pytest.mark.parametrize(
    "spec", [CUT, nested(101), nested(9_000), b'{"a":"\xff"}', b'{"a":1e999}', b'{"a":"\\ud800"}']
)
def test_no_dialect_takes_what_cannot_be_parsed_for_a_job(dialect: object, spec: bytes) -> None:
    stored = JobObject(
        metadata=ObjectMeta(name="j", namespace="n", uid="u"),
        spec=msgspec.Raw(spec),
    )
    manifest = stored.manifest()
    assert isinstance(manifest["spec"], Unreadable)
    assert hasattr(dialect, "decode")
    assert isinstance(dialect.decode(manifest, Settings()), InvalidJob)


def test_a_job_of_another_manager_is_not_even_reported() -> None:
    dialect = DIALECTS[0]
    found = dialect.decode({"metadata": {"name": "j"}, "spec": Unreadable("x")}, Settings())
    assert isinstance(found, InvalidJob)
    others = msgspec.structs.replace(found, is_unparsed=True, is_external=True)
    assert reject(others, now=NOW) == Plan()


@pytest.mark.parametrize("depth", DEPTHS)
def test_pruned_job_has_the_same_manifest_as_the_whole_one(depth: int) -> None:
    text = b'{"metadata":{"name":"j"},"spec":{"x":' + nested(depth) + b'},"status":{"a":1}}'
    cut = msgspec.json.decode(pruned(text, level=1), type=JobObject)
    whole = JobObject(
        metadata=cut.metadata,
        spec=msgspec.Raw(b'{"x":' + nested(depth) + b"}"),
        status=msgspec.Raw(b'{"a":1}'),
    )
    assert cut.manifest() == whole.manifest()
