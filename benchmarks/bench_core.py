"""Benchmarks of the core: a reconcile without changes, one that creates a job, one after failures,
and the whole start of a job with everything that the operator does for it, but for the network.

Everything is measured in this process without IO; a figure is the median of repeated runs.
Run as `python -m benchmarks.bench_core`, with `--quick` for a short run.
"""

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from benchmarks.job_life import median_seconds
from tfjob.core.child_manifests import ManifestBuilder
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.plan import ChildKind, Plan
from tfjob.core.reconcile import reconcile
from tfjob.dialects.base import Settings, StatusContext
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.k8s.child_types import Service
from tfjob.k8s.pod import Pod

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
DIALECT = KubeflowV1()
SETTINGS = Settings()
SIZES = (10, 100, 1000, 5000)
RUNNING = {"phase": "Running", "startTime": "2026-01-02T03:00:00Z"}
FAILED = {
    "phase": "Failed",
    "containerStatuses": [{"name": "tensorflow", "state": {"terminated": {"exitCode": 137}}}],
}


class Row(msgspec.Struct):
    """One row of the table: what was measured, the number of replicas, and the median time."""

    what: str
    replicas: int
    seconds: float


class StoredJob:
    """A stored job of `workers` workers and one parameter server, with its children."""

    def __init__(self, workers: int) -> None:
        self.manifest = _manifest(workers)
        self.children = Children()

    @property
    def body(self) -> bytes:
        return msgspec.json.encode(self.manifest)

    @property
    def job(self) -> Job:
        return decoded(self.manifest)

    def settle(self, status: Mapping[str, Any]) -> None:
        """Create every child, with pods in this status, and reconcile until nothing changes."""
        job = self.job
        plan = reconcile(job=job, children=Children(), now=NOW)
        self.children = _children(job, plan, status)
        for _ in range(10):
            plan = reconcile(job=self.job, children=self.children, now=NOW)
            if plan.status is None:
                return
            shown = DIALECT.encode_status(
                self.job, plan.status, StatusContext(children=self.children)
            )
            self.manifest = {**self.manifest, "status": shown}
        raise AssertionError("the job's status keeps changing: nothing can be measured")


def decoded(manifest: Mapping[str, Any]) -> Job:
    job = DIALECT.decode(manifest, SETTINGS)
    assert isinstance(job, Job), job
    return job


def read(body: bytes) -> Job:
    return decoded(msgspec.json.decode(body))


def render(job: Job, plan: Plan) -> int:
    """Encode every manifest as JSON and return the number of bytes."""
    builder = ManifestBuilder(job)
    return sum(len(msgspec.json.encode(builder.manifest(each))) for each in plan.creates)


def measured(work: Callable[[], object], *, seconds: float) -> float:
    """The median of at least three runs over about this time, with garbage collection off."""
    work()
    taken: list[float] = []
    gc.collect()
    gc.disable()
    try:
        began = time.perf_counter()
        while len(taken) < 3 or time.perf_counter() - began < seconds:
            start = time.perf_counter()
            work()
            taken.append(time.perf_counter() - start)
    finally:
        gc.enable()
    return statistics.median(taken)


def quiet_rows(seconds: float) -> list[Row]:
    """Reconciles of a healthy running job of four replicas."""
    stored = StoredJob(workers=3)
    stored.settle(RUNNING)
    body, job, children = stored.body, stored.job, stored.children
    assert reconcile(job=job, children=children, now=NOW).is_empty
    works: dict[str, Callable[[], object]] = {
        "nothing to do: read the stored job": lambda: read(body),
        "nothing to do: decide": lambda: reconcile(job=job, children=children, now=NOW),
        "nothing to do: both": lambda: reconcile(job=read(body), children=children, now=NOW),
    }
    return [Row(what, job.total, measured(work, seconds=seconds)) for what, work in works.items()]


def growing_rows(total: int, seconds: float) -> list[Row]:
    """The same for jobs of growing size."""
    stored = StoredJob(workers=total - 1)
    body, nothing = stored.body, Children()

    def create() -> int:
        job = read(body)
        return render(job, reconcile(job=job, children=nothing, now=NOW))

    rows = [
        Row("create: read, decide, render all as JSON", total, measured(create, seconds=seconds))
    ]
    for what, status in (("run: read, decide", RUNNING), ("all failed: read, decide", FAILED)):
        rows.append(Row(what, total, _pass_time(StoredJob(total - 1), status, seconds=seconds)))
    return rows


def _pass_time(stored: StoredJob, status: Mapping[str, Any], *, seconds: float) -> float:
    """A pass over children in this status: the first that sees a failure, else one at rest."""
    if status is RUNNING:
        stored.settle(status)
        body, children = stored.body, stored.children
    else:
        body = stored.body
        stored.settle(status)
        children = stored.children
    return measured(lambda: reconcile(job=read(body), children=children, now=NOW), seconds=seconds)


def table(rows: Sequence[Row]) -> str:
    lines = [f"{'reconcile':<44}{'replicas':>9}{'µs':>12}{'µs/replica':>12}"]
    lines += [
        f"{row.what:<44}{row.replicas:>9}{row.seconds * 1e6:>12.0f}"
        f"{row.seconds * 1e6 / row.replicas:>12.1f}"
        for row in rows
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="How long one decision takes.")
    parser.add_argument("--quick", action="store_true", help="a short run of a few seconds")
    seconds = 0.1 if parser.parse_args(arguments).quick else 2.0
    rows = quiet_rows(seconds)
    jobs = max(20, int(200 * seconds))
    rows.append(Row("a job from its creation to Running", 4, median_seconds(jobs=jobs)))
    for total in SIZES:
        rows += growing_rows(total, seconds)
    print(table(rows))


def _manifest(workers: int) -> dict[str, Any]:
    container = {
        "name": "tensorflow",
        "image": "registry.example/train:1",
        "command": ["python", "train.py", "--epochs=3"],
        "env": [{"name": "DATA", "value": "/data"}],
        "resources": {"limits": {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "1"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    spec = {
        "containers": [container],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    }
    template = {"metadata": {"labels": {"app": "train"}}, "spec": spec}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": "train", "namespace": "team", "uid": "0c4f"},
        "spec": {
            "tfReplicaSpecs": {
                kind: {"replicas": count, "restartPolicy": "ExitCode", "template": template}
                for kind, count in (("PS", 1), ("Worker", workers))
            }
        },
    }


def _children(job: Job, plan: Plan, status: Mapping[str, Any]) -> Children:
    """The planned children as the API server would return them, pods in the given status."""
    builder = ManifestBuilder(job)
    pods: list[Pod] = []
    services: list[Service] = []
    for create in plan.creates:
        made = builder.manifest(create)
        uid = f"{create.kind}-{create.name}"
        meta = {**made["metadata"], "uid": uid, "creationTimestamp": "2026-01-02T03:00:00Z"}
        if create.kind == ChildKind.POD:
            pods.append(msgspec.convert({"metadata": meta, "status": status}, Pod))
        else:
            services.append(msgspec.convert({"metadata": meta}, Service))
    return Children(pods=pods, services=services)


if __name__ == "__main__":
    main()
