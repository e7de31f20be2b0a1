"""The CRD of TFJobs on a real API server: what it accepts, and with which messages it rejects.

Every verdict on a new object is also asked of the offline check, which must agree. Objects that
were stored before the rules existed can still be edited where they break no rule anew.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from tests.support.controlplane.cluster import ControlPlane
from tests.support.controlplane.endpoint import ApiError, Endpoint
from tests.support.environments import Environment
from tests.support.permissive_crd import permissive
from tests.support.tfjobs import of_types, replica, tfjob
from tests.unit.dialects.almost_right import SENT_SPEC
from tests.unit.dialects.edits import EDITS, STORED, UPDATES
from tests.unit.dialects.verdicts import ACCEPTED, EXTERNAL, REFUSED, Json
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.dialects.registry import dialect_for

_CHART = Path(__file__).parents[2] / "charts" / "tfjob"
CHART = _CHART / "files" / "crds" / "kubeflow.org_tfjobs.yaml"
SEEDS = sorted((Path(__file__).parents[1] / "unit" / "dialects" / "seeds").glob("*.yaml"))


def path_of(namespace: str, version: str = "v1") -> str:
    return f"/apis/kubeflow.org/{version}/namespaces/{namespace}/tfjobs"


def refusal(act: Callable[[], object]) -> str:
    """What the API server says against it; nothing where it is carried out."""
    try:
        act()
    except ApiError as error:
        if error.status not in {400, 422}:
            raise
        return str(error)
    return ""


def create(
    endpoint: Endpoint, namespace: str, job: Json, *, is_dry: bool = False, unknown: str = "Strict"
) -> Any:
    version = job["apiVersion"].partition("/")[2]
    query = f"?fieldValidation={unknown}" + ("&dryRun=All" if is_dry else "")
    return endpoint.request("POST", path_of(namespace, version) + query, job)


def patch(endpoint: Endpoint, path: str, change: Json) -> Any:
    return endpoint.request("PATCH", f"{path}?dryRun=All", change)


@pytest.fixture(scope="module")
def place(kubernetes_env: Environment) -> Iterator[tuple[Endpoint, str]]:
    """An API server that knows TFJobs, and a namespace on it."""
    namespace = kubernetes_env.server.create_namespace()
    yield kubernetes_env.endpoint, namespace
    kubernetes_env.server.delete_namespace(namespace)


@pytest.mark.parametrize("why", ACCEPTED)
def test_good_job_is_taken(place: tuple[Endpoint, str], why: str) -> None:
    job = ACCEPTED[why]
    assert refusal(lambda: create(*place, job, is_dry=True)) == ""


@pytest.mark.scenario(8, 9, 10, 11, 12, 13, 14, 17, 18)
@pytest.mark.parametrize("why", REFUSED)
def test_bad_job_is_rejected_in_the_words_of_the_contract(
    place: tuple[Endpoint, str], why: str
) -> None:
    job, texts = REFUSED[why]
    said = refusal(lambda: create(*place, job, is_dry=True))
    assert [text for text in texts if text not in said] == [], said


@pytest.mark.parametrize("why", [*ACCEPTED, *REFUSED])
def test_offline_check_agrees(place: tuple[Endpoint, str], why: str) -> None:
    job = ACCEPTED.get(why) or REFUSED[why][0]
    dialect = dialect_for(job["apiVersion"], job["kind"])
    assert dialect is not None
    is_refused = bool(refusal(lambda: create(*place, job, is_dry=True)))
    assert bool(dialect.validate(job)) == is_refused


@settings(max_examples=100)
@given(SENT_SPEC)
def test_offline_check_agrees_on_any_job(place: tuple[Endpoint, str], spec: Any) -> None:
    job = {**tfjob(), "spec": spec}
    is_refused = bool(refusal(lambda: create(*place, job, is_dry=True, unknown="Ignore")))
    assert bool(KubeflowV1().validate(job)) == is_refused


@pytest.mark.scenario(139)
@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
def test_published_job_is_taken_unchanged(place: tuple[Endpoint, str], path: Path) -> None:
    endpoint, namespace = place
    job = yaml.safe_load(path.read_text("utf-8"))
    # Of a stored object only what a user wrote can be sent again, into the namespace of this test.
    kept = {key: job["metadata"][key] for key in ("name", "generateName") if key in job["metadata"]}
    assert refusal(lambda: create(endpoint, namespace, job | {"metadata": kept}, is_dry=True)) == ""


@pytest.mark.scenario(15, 16)
@pytest.mark.parametrize("why", UPDATES)
def test_update(place: tuple[Endpoint, str], why: str) -> None:
    endpoint, namespace = place
    row = UPDATES[why]
    name = f"{'u' * 30}-{list(UPDATES).index(why)}".ljust(54, "x")
    job = tfjob(name=name, **row.before)
    create(endpoint, namespace, job)
    path = f"{path_of(namespace)}/{name}"
    said = refusal(lambda: patch(endpoint, path, {"spec": row.change}))
    assert bool(said) == bool(row.says), said
    assert row.says in said


@pytest.fixture(scope="module")
def stored(
    kubernetes_env: Environment, control_plane: ControlPlane, place: tuple[Endpoint, str]
) -> tuple[Endpoint, str]:
    """The place, with objects on it that the rules would refuse. The operator leaves them alone."""
    definition = KubeflowV1().crd()
    bad = REFUSED["unknown type"][0]

    def is_taken() -> bool:
        return refusal(lambda: create(*place, bad, is_dry=True)) == ""

    kubernetes_env.replace_crd(permissive(definition))
    try:
        control_plane.wait("API server without rules", is_taken)
        for name, row in STORED.items():
            metadata = {"name": name, "finalizers": ["example.com/wait"]}
            run_policy = {"managedBy": EXTERNAL, **row.job["spec"].get("runPolicy", {})}
            spec = {"tfReplicaSpecs": {}, **row.job["spec"], "runPolicy": run_policy}
            create(*place, {**row.job, "metadata": metadata, "spec": spec})
    finally:
        kubernetes_env.replace_crd(definition)
    control_plane.wait("API server with rules", lambda: not is_taken())
    return place


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        (name, edit)
        for name in STORED
        for edit in EDITS
        if name != "no-types" or not edit.endswith("type")
    ],
)
def test_stored_object_can_be_edited_if_the_edit_breaks_no_further_rule(
    stored: tuple[Endpoint, str], name: str, edit: str
) -> None:
    endpoint, namespace = stored
    path = f"{path_of(namespace)}/{name}"
    assert refusal(lambda: patch(endpoint, path, EDITS[edit])) == ""


@pytest.mark.parametrize("name", STORED)
def test_stored_object_takes_a_status(stored: tuple[Endpoint, str], name: str) -> None:
    endpoint, namespace = stored
    change = {"status": {"startTime": "2026-01-02T03:04:05Z", "ofTomorrow": {"a": 1}}}
    answer = patch(endpoint, f"{path_of(namespace)}/{name}/status", change)
    assert answer["status"] == change["status"]


@pytest.mark.parametrize("name", STORED)
def test_stored_object_cannot_be_made_worse(stored: tuple[Endpoint, str], name: str) -> None:
    endpoint, namespace = stored
    row = STORED[name]
    assert row.says in refusal(lambda: patch(endpoint, f"{path_of(namespace)}/{name}", row.worse))


@pytest.mark.parametrize("name", STORED)
def test_stored_object_can_be_finalised_and_deleted(
    stored: tuple[Endpoint, str], control_plane: ControlPlane, name: str
) -> None:
    endpoint, namespace = stored
    path = f"{path_of(namespace)}/{name}"
    endpoint.request("DELETE", path)
    endpoint.request("PATCH", path, {"metadata": {"finalizers": None}})
    with pytest.raises(ApiError, match="not found"):
        endpoint.request("GET", path)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({"conditions": [{"type": "Created"}]}, "status.conditions[0].status: Required value"),
        ({"conditions": {}}, "conditions in body must be of type array"),
        ({"replicaStatuses": {"Worker": {"active": "1"}}}, "must be of type integer"),
        ({"startTime": "yesterday"}, "status.startTime"),
    ],
)
def test_malformed_status_is_rejected(place: tuple[Endpoint, str], status: Json, text: str) -> None:
    endpoint, namespace = place
    path = _some_job(endpoint, namespace)
    assert text in refusal(lambda: patch(endpoint, f"{path}/status", {"status": status}))


def test_status_is_written_by_its_own_door_alone(place: tuple[Endpoint, str]) -> None:
    endpoint, namespace = place
    path = _some_job(endpoint, namespace)
    start = {"startTime": "2026-01-02T03:04:05Z"}
    assert "startTime" not in patch(endpoint, path, {"status": start}).get("status", {})
    assert patch(endpoint, f"{path}/status", {"status": start})["status"]["startTime"]


def test_workers_can_be_scaled(place: tuple[Endpoint, str]) -> None:
    endpoint, namespace = place
    path = _some_job(endpoint, namespace)
    change = {"spec": {"replicas": 4}}
    assert patch(endpoint, f"{path}/scale", change)["spec"] == {"replicas": 4}
    too_many = {"spec": {"replicas": 5_001}}
    assert "5000" in refusal(lambda: patch(endpoint, f"{path}/scale", too_many))


def test_workers_in_other_letters_cannot_be_scaled(place: tuple[Endpoint, str]) -> None:
    endpoint, namespace = place
    job = of_types(WORKER=replica())
    path = _some_job(endpoint, namespace, name="capitals", job=job)
    said = refusal(lambda: patch(endpoint, f"{path}/scale", {"spec": {"replicas": 4}}))
    assert 'Duplicate value: "Worker"' in said


@pytest.mark.scenario(135)
def test_old_version_is_stored_with_its_own_default_and_read_as_the_new_one(
    place: tuple[Endpoint, str],
) -> None:
    endpoint, namespace = place
    create(endpoint, namespace, {**tfjob(name="old"), "apiVersion": "kubeflow.org/v1beta1"})
    found = endpoint.request("GET", f"{path_of(namespace)}/old")
    assert found["apiVersion"] == "kubeflow.org/v1"
    assert found["spec"]["cleanPodPolicy"] == "Running"
    again = endpoint.request("GET", f"{path_of(namespace, 'v1beta1')}/old")
    assert again["apiVersion"] == "kubeflow.org/v1beta1"


def test_chart_is_applied_plainly_and_is_what_the_code_says(kubernetes_env: Environment) -> None:
    assert yaml.safe_load(CHART.read_text("utf-8")) == KubeflowV1().crd()
    said = kubernetes_env.kubectl("apply", "--dry-run=server", "-f", str(CHART))
    assert "customresourcedefinition.apiextensions.k8s.io/tfjobs.kubeflow.org" in said


def test_definition_is_stored_as_it_was_sent(kubernetes_env: Environment) -> None:
    """Else every tool that compares the two would see a difference for ever."""
    definition = KubeflowV1().crd()
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    found = kubernetes_env.endpoint.request("GET", f"{path}/{definition['metadata']['name']}")
    assert found["spec"] == definition["spec"]


def test_fields_are_explained(kubernetes_env: Environment) -> None:
    said = kubernetes_env.kubectl("explain", "tfjobs.spec.runPolicy.cleanPodPolicy")
    assert "Which pods are deleted when the job finishes" in said


def test_misspelt_field_is_rejected_where_the_client_asks_for_it(
    place: tuple[Endpoint, str],
) -> None:
    job = tfjob()
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["metadata"] = {"lables": {"a": "b"}}
    said = refusal(lambda: create(*place, job, is_dry=True))
    assert 'unknown field "spec.tfReplicaSpecs.Worker.template.metadata.lables"' in said


def _some_job(
    endpoint: Endpoint, namespace: str, *, name: str = "some", job: Json | None = None
) -> str:
    """The path of a stored job without flaws, which no operator minds."""
    path = f"{path_of(namespace)}/{name}"
    try:
        endpoint.request("GET", path)
    except ApiError:
        made = job or tfjob()
        spec = {**made["spec"], "runPolicy": {"managedBy": EXTERNAL}}
        create(endpoint, namespace, {**made, "metadata": {"name": name}, "spec": spec})
    return path
