"""`tfjob plan FILE`: the children that the operator would create for a job, as YAML."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from tfjob.cli.placed_advice import placed_advice
from tfjob.cli.printing import plain
from tfjob.core.child_manifests import ManifestBuilder
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.plan import Create
from tfjob.core.reconcile import reconcile
from tfjob.dialects.base import Manifest, Settings
from tfjob.k8s.child_types import PodGroup, PodGroupStatus
from tfjob.k8s.meta import ObjectMeta
from tfjob.manager import dialect_flags
from tfjob.sdk import documents
from tfjob.sdk.documents import as_yaml
from tfjob.sdk.exported_objects import for_new_cluster
from tfjob.sdk.job_documents import CheckedDocument, check_all

_POD_GROUP_VERSION = "v1alpha2"
"""What Kubernetes 1.36 serves: a plan has no cluster to ask."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="YAML file; - reads stdin")
    parser.add_argument(
        "--gang-scheduler-name",
        default="",
        metavar="NAME",
        help="gang scheduler of the operator: volcano, kubernetes, or the name of a scheduler",
    )
    parser.add_argument(
        "--cluster-domain",
        default="",
        metavar="DOMAIN",
        help="domain of service addresses (the operator reads CUSTOM_CLUSTER_DOMAIN)",
    )
    parser.add_argument(
        "--evaluator-in-cluster",
        action="store_true",
        help="list evaluators in the cluster of TF_CONFIG, as training-operator 1.9 does",
    )
    dialect_flags.add_arguments(parser)
    parser.epilog = "Exit codes: 0 all jobs were planned, 1 there is a fault."


def run(arguments: argparse.Namespace) -> int:
    try:
        settings = _settings(arguments)
        read = documents.read(arguments.file)
    except (documents.DocumentError, dialect_flags.FlagError) as error:
        return _fail([str(error)])
    jobs = check_all(read)
    if not jobs:
        return _fail([f"{documents.shown_name(arguments.file)}: contains no job"])
    worst = 0
    for checked in jobs:
        worst = max(worst, _plan_one(checked, settings))
    return worst


def _settings(arguments: argparse.Namespace) -> Settings:
    options = dialect_flags.read(arguments)
    return Settings(
        gang_scheduler_name=arguments.gang_scheduler_name,
        pod_group_version=_POD_GROUP_VERSION,
        cluster_domain=arguments.cluster_domain,
        has_evaluator_in_cluster=arguments.evaluator_in_cluster,
        options=options,
    )


def _plan_one(checked: CheckedDocument, settings: Settings) -> int:
    document = checked.document
    if checked.dialect is None or checked.faults:
        place = f"{document.file}: document {document.number}, {checked.title}"
        return _fail([f"{place}: has faults and is not planned", *checked.report()])
    job = checked.dialect.decode(as_new(document.value), settings)
    if not isinstance(job, Job):
        return _fail(fault.text for fault in job.faults)
    for warning in placed_advice(checked, job):
        place = warning.place(document)
        sys.stderr.write(plain(f"{place}warning: {checked.title}: {warning.text}\n"))
    for manifest in planned(job):
        sys.stdout.write("---\n" + as_yaml(manifest))
    if job.is_external:
        sys.stderr.write(f"{checked.title}: managed by another controller; nothing is planned\n")
    elif job.policy.is_suspended:
        sys.stderr.write(f"{checked.title}: suspended; no pods are planned until it is resumed\n")
    return 0


def as_new(manifest: Manifest) -> Manifest:
    """The job as it would be created, even if the file holds one that has already run.

    What the API server or the operator chooses for a new job is a row of x: the end of a
    `generateName`, and the RuntimeId of an exported TfJob.
    """
    new = for_new_cluster(manifest)
    metadata = new["metadata"]
    name = metadata.get("name") or f"{metadata['generateName']}xxxxx"
    return {**new, "metadata": {**metadata, "name": name}}


def planned(job: Job) -> Iterator[dict[str, Any]]:
    """All children of a new job; its pod group counts as admitted."""
    now = datetime.now(tz=UTC)
    plan = reconcile(job=job, children=Children(), now=now)
    yield from _manifests(job, plan.creates)
    if job.gang is not None and (job.gang.waits_for_admission or job.gang.waits_for_group):
        body = next((create.body for create in plan.creates if create.body), None) or {}
        group = PodGroup(
            metadata=ObjectMeta(name=job.gang.group_name),
            spec=body.get("spec", {}),
            status=PodGroupStatus(phase="Inqueue"),
        )
        admitted = reconcile(job=job, children=Children(pod_group=group), now=now)
        shown = {(each.kind, each.name) for each in plan.creates}
        late = [each for each in admitted.creates if (each.kind, each.name) not in shown]
        yield from _manifests(job, late)


def _manifests(job: Job, creates: Iterable[Create]) -> Iterator[dict[str, Any]]:
    builder = ManifestBuilder(job)
    for create in creates:
        manifest = builder.manifest(create)
        metadata = manifest["metadata"]
        name = {"name": metadata["name"], "namespace": job.namespace}
        yield {**manifest, "metadata": {**name, **metadata}}


def _fail(reasons: Iterable[str]) -> int:
    for reason in reasons:
        sys.stderr.write(f"{plain(reason)}\n")
    return 1
