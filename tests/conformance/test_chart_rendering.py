"""What the chart renders from its values, with a real Helm; no cluster is needed."""

import argparse
import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.helm import CHART, EVERY_DIALECT, Helm, Json, Rendered, helm_at
from tfjob import __version__
from tfjob.controller.pacing import PacingConfig
from tfjob.manager import settings
from tfjob.manager.permissions import PERMISSIONS, Need

pytestmark = pytest.mark.timeout(func_only=True)
_MOUNTED = "--controller-config-file"
"""Names a folder that is there in the pod alone."""
_CLUSTER_WIDE = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"}


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return helm_at(tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="module")
def plain(helm: Helm) -> Rendered:
    """The chart as it is."""
    return helm.render()


def settings_of(rendered: Rendered, **environment: str) -> settings.Settings:
    """How the operator itself understands the flags it is given."""
    parser = argparse.ArgumentParser()
    settings.add_arguments(parser)
    flags = [each for each in rendered.flags() if not each.startswith(_MOUNTED)]
    return settings.read(parser.parse_args(flags), environment)


def pod_of(rendered: Rendered) -> Json:
    spec: Json = rendered.one("Deployment")["spec"]["template"]["spec"]
    return spec


def granted(rendered: Rendered, *kinds: str) -> set[tuple[str, str, str]]:
    """Group, resource and verb of each rule of the operator's roles."""
    roles = [
        each
        for kind in kinds
        for each in rendered.of(kind)
        if each["metadata"]["name"].startswith("tfjob-operator")
    ]
    return {
        (group, resource, verb)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def declared(*needs: str) -> set[tuple[str, str, str]]:
    return {
        (each.resource.group, each.name, verb)
        for each in PERMISSIONS
        if each.need in needs
        for verb in each.verbs
    }


def test_chart_passes_helms_own_checks(helm: Helm) -> None:
    helm("lint", "--strict", str(CHART))


def test_chart_has_the_version_of_the_package() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_seed_001_line_58_to_72_checkout_makes_a_chart_of_its_version(
    helm: Helm, tmp_path: Path
) -> None:
    helm("package", str(CHART), "--destination", str(tmp_path))
    packaged = tmp_path / f"tfjob-{__version__}.tgz"
    words = ("template", "tfjob", "--set", EVERY_DIALECT)
    assert helm(*words, str(packaged)) == helm(*words, str(CHART))


def test_schema_knows_each_value_and_no_other() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    known = set(_paths_of_schema(schema)) - {"global"}
    assert known == set(_paths_of_values(values, schema))


def _paths_of_schema(schema: Json, path: str = "") -> Iterator[str]:
    if "properties" not in schema:
        yield path
        return
    for name, each in schema["properties"].items():
        yield from _paths_of_schema(each, f"{path}.{name}".lstrip("."))


def _paths_of_values(values: Any, schema: Json, path: str = "") -> Iterator[str]:
    if "properties" not in schema:
        yield path
        return
    for name, each in values.items():
        inner = schema["properties"].get(name, {})
        yield from _paths_of_values(each, inner, f"{path}.{name}".lstrip("."))


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("replicas=-1", "/replicas"),
        ("replicas=many", "/replicas"),
        ("replica=2", "replica"),
        ("replicas=2,leaderElection.enabled=false", "/leaderElection/enabled"),
        ("namespaced.namespace=ml", "/namespaced/enabled"),
        ("namespaced.enabled=yes-please", "/namespaced/enabled"),
        ("operator.exitCodeTable=v2", "/operator/exitCodeTable"),
        ("operator.resyncPeriod=soon", "/operator/resyncPeriod"),
        ("operator.controllerThreads=0", "/operator/controllerThreads"),
        ("operator.pacing.statusDelay=never", "/operator/pacing/statusDelay"),
        ("operator.pacing.enabled=maybe", "/operator/pacing/enabled"),
        ("operator.extraArgs={word}", "/operator/extraArgs/0"),
        ("image.pullPolicy=Sometimes", "/image/pullPolicy"),
        ("image.digest=latest", "/image/digest"),
        ("logging.level=loud", "/logging/level"),
        ("metrics.port=70000", "/metrics/port"),
        ("networkPolicy.metricsFrom[0].pods=mine", "/networkPolicy/metricsFrom/0"),
        ("metrics.serviceMonitor.enabled=true,metrics.service.enabled=false", "/metrics/service"),
    ],
)
def test_nonsense_is_rejected_with_its_place(helm: Helm, value: str, place: str) -> None:
    assert place in helm.refusal(value)


def test_flags_say_what_the_operator_does_anyway(plain: Rendered) -> None:
    """A chart without values changes nothing but the log, and elects."""
    expected = settings.Settings(is_leader_elected=True, log_format="json")
    assert settings_of(plain) == expected


def test_each_value_reaches_the_operator(helm: Helm) -> None:
    found = settings_of(
        helm.render(
            "operator.gangSchedulerName=coscheduling,operator.exitCodeTable=classic",
            "operator.defaultCleanPodPolicy=All,operator.legacyLabels=true",
            "operator.evaluatorInCluster=true,operator.forceDeleteStuckAfter=90s",
            "operator.resultFinalizers=true",
            "operator.resyncPeriod=1h30m,operator.controllerThreads=1000000",
            "operator.pacing.enabled=false,operator.pacing.statusDelay=500ms",
            "operator.pacing.eventDelay=10s",
            "operator.kubeApiQps=2000000,operator.kubeApiBurst=3000000,leaderElection.id=mine",
            "logging.encoder=console,logging.level=debug,metrics.port=9090,probes.port=9091",
            "namespaced.enabled=true,namespaced.namespace=ml",
            "dialects.tensorstack=true,operator.t9kPodGroupBackend=none",
        )
    )
    assert found.jobs.gang_scheduler_name == "coscheduling"
    assert (found.jobs.exit_code_table, found.jobs.default_clean_pod_policy) == ("classic", "All")
    assert found.jobs.has_legacy_labels
    assert found.jobs.has_evaluator_in_cluster
    assert found.jobs.has_result_finalizers
    assert found.jobs.force_delete_after is not None
    assert (found.resync.total_seconds(), found.jobs.force_delete_after.seconds) == (5400, 90)
    assert (found.threads, found.qps, found.burst) == (1_000_000, 2e6, 3_000_000)
    assert found.pacing == PacingConfig(is_on=False, status_delay=0.5, event_delay=10.0)
    assert (found.log_format, found.log_level, found.lease_name) == ("console", "debug", "mine")
    assert (found.metrics_address, found.health_address) == (":9090", ":9091")
    assert found.namespace == "ml"
    assert found.jobs.options["t9k-pod-group-backend"] == "none"


def test_readers_of_metrics_are_reviewed_where_that_is_wanted(helm: Helm, plain: Rendered) -> None:
    assert not settings_of(plain).reviews_metrics_readers
    assert settings_of(helm.render("metrics.tokenReview=true")).reviews_metrics_readers


def test_pod_has_no_right_that_it_does_not_need(plain: Rendered) -> None:
    pod = pod_of(plain)
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    assert "memory" in container["resources"]["limits"]
    assert plain.one("ServiceAccount")["automountServiceAccountToken"] is False


def test_operator_is_found_by_the_labels_of_its_ancestors(plain: Rendered) -> None:
    template = plain.one("Deployment")["spec"]["template"]["metadata"]
    assert template["labels"]["control-plane"] == "kubeflow-training-operator"
    assert template["labels"]["name"] == "tf-job-operator"
    assert template["annotations"]["sidecar.istio.io/inject"] == "false"
    selector = plain.one("Deployment")["spec"]["selector"]["matchLabels"]
    assert selector.items() <= template["labels"].items()
    service = plain.one("Service")
    assert service["spec"]["selector"] == selector
    assert service["metadata"]["annotations"]["prometheus.io/port"] == "8080"
    assert service["spec"]["ports"][0]["name"] == "monitoring-port"


def test_probes_and_metrics_lead_to_the_ports_the_operator_listens_on(plain: Rendered) -> None:
    [container] = pod_of(plain)["containers"]
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert ports == {"monitoring-port": 8080, "probes": 8081}
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "probes"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "probes"}


def test_entries_of_a_user_join_those_of_the_chart(helm: Helm) -> None:
    values = (
        "podLabels.team=vision,podLabels.name=other",
        r"podAnnotations.sidecar\.istio\.io/inject=on",
    )
    metadata = helm.render(*values).one("Deployment")["spec"]["template"]["metadata"]
    assert metadata["labels"]["team"] == "vision"
    assert metadata["labels"]["name"] == "tf-job-operator"
    assert metadata["annotations"]["sidecar.istio.io/inject"] == "on"


def test_second_replica_brings_a_budget_for_disruptions(helm: Helm, plain: Rendered) -> None:
    assert "PodDisruptionBudget" not in plain.kinds()
    two = helm.render("replicas=2")
    budget, deployment = two.one("PodDisruptionBudget"), two.one("Deployment")
    assert budget["spec"]["selector"] == deployment["spec"]["selector"]
    assert deployment["spec"]["strategy"]["type"] == "RollingUpdate"


def test_without_election_two_pods_never_overlap(helm: Helm) -> None:
    alone = helm.render("leaderElection.enabled=false")
    assert alone.one("Deployment")["spec"]["strategy"]["type"] == "Recreate"
    assert "Lease" not in alone.kinds()
    assert not settings_of(alone).is_leader_elected


def test_image_is_named_by_tag_or_by_digest(helm: Helm, plain: Rendered) -> None:
    assert pod_of(plain)["containers"][0]["image"] == f"tfjob:{__version__}"
    digest = f"sha256:{'0' * 64}"
    values = (
        f"image.repository=example.invalid/tfjob,image.digest={digest},image.pullSecrets[0].name=s"
    )
    pod = pod_of(helm.render(values))
    assert pod["containers"][0]["image"] == f"example.invalid/tfjob@{digest}"
    assert pod["imagePullSecrets"] == [{"name": "s"}]


def test_service_monitor_selects_the_service(helm: Helm) -> None:
    rendered = helm.render("metrics.serviceMonitor.enabled=true")
    monitor, service = rendered.one("ServiceMonitor"), rendered.one("Service")
    chosen = monitor["spec"]["selector"]["matchLabels"]
    assert chosen.items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]


PLAIN = {Need.JOBS, Need.CLUSTER, "kubeflow"}
EVERY = {*PLAIN, "tensorflow", "tensorstack", "tensorstack.t9k"}


@pytest.mark.parametrize(
    ("values", "needs"),
    [
        ("", PLAIN),
        ("operator.gangSchedulerName=None", PLAIN),
        ("operator.gangSchedulerName=Volcano", {*PLAIN, "kubeflow.volcano", Need.PRIORITIES}),
        ("operator.gangSchedulerName=Kubernetes", {*PLAIN, "kubeflow.kubernetes"}),
        (
            "operator.gangSchedulerName=coscheduling",
            {*PLAIN, "kubeflow.schedulerPlugins", Need.PRIORITIES},
        ),
        ("metrics.tokenReview=true", {*PLAIN, Need.METRICS}),
        (EVERY_DIALECT, EVERY),
        (f"{EVERY_DIALECT},operator.t9kPodGroupBackend=none", EVERY - {"tensorstack.t9k"}),
        (
            f"{EVERY_DIALECT},operator.t9kPodGroupBackend=volcano",
            EVERY - {"tensorstack.t9k"} | {"tensorstack.volcano"},
        ),
        ("dialects.kubeflow=false,dialects.tensorflow=true", PLAIN - {"kubeflow"} | {"tensorflow"}),
        (
            "dialects.kubeflow=false,dialects.tensorstack=true",
            PLAIN - {"kubeflow"} | {"tensorstack", "tensorstack.t9k"},
        ),
    ],
)
def test_role_holds_what_the_values_need_and_no_more(
    helm: Helm, values: str, needs: Collection[str]
) -> None:
    rendered = helm.render(values)
    assert granted(rendered, "ClusterRole") == declared(*needs)
    assert granted(rendered, "Role") == declared(Need.LEADERSHIP)


def test_one_namespace_takes_nothing_of_the_cluster(helm: Helm) -> None:
    gangs = "namespaced.enabled=true,operator.gangSchedulerName=volcano"
    rendered = helm.render(EVERY_DIALECT, gangs)
    needs = {*EVERY, "kubeflow.volcano", Need.LEADERSHIP} - {Need.CLUSTER}
    assert not rendered.kinds() & _CLUSTER_WIDE
    assert {each["metadata"]["namespace"] for each in rendered.all} == {"kubeflow"}
    assert granted(rendered, "Role") == declared(*needs)
    assert settings_of(rendered).lease_name == settings.LEASE_NAME


def test_metrics_are_open_to_named_peers_alone_where_a_policy_is_wanted(
    helm: Helm, plain: Rendered
) -> None:
    assert "NetworkPolicy" not in plain.kinds()
    peer = "networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.name=monitoring"
    for values, expected in (
        ((), {"podSelector": {}}),
        ((peer,), {"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}),
    ):
        rendered = helm.render("networkPolicy.enabled=true", *values)
        policy, deployment = rendered.one("NetworkPolicy"), rendered.one("Deployment")
        assert policy["spec"]["podSelector"] == deployment["spec"]["selector"]
        assert policy["spec"]["policyTypes"] == ["Ingress"]
        [rule] = policy["spec"]["ingress"]
        assert rule == {
            "ports": [{"port": "monitoring-port", "protocol": "TCP"}],
            "from": [expected],
        }


def test_another_namespace_has_a_lease_of_its_own(helm: Helm) -> None:
    rendered = helm.render("namespaced.enabled=true,namespaced.namespace=ml")
    name = f"{settings.LEASE_NAME}.ml"
    assert settings_of(rendered).lease_name == rendered.one("Lease")["metadata"]["name"] == name
    roles = {each["metadata"]["namespace"]: each["rules"] for each in rendered.of("Role")}
    assert roles.keys() == {"kubeflow", "ml"}
    assert roles["kubeflow"][1]["resourceNames"] == [name]


def test_roles_can_be_left_to_whoever_installs(helm: Helm) -> None:
    values = "rbac.create=false,userRoles.create=false,serviceAccount.create=false"
    rendered = helm.render(values)
    kinds = {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ServiceAccount"}
    assert not {each["kind"] for each in (*rendered.all, *rendered.hooks)} & kinds
    assert pod_of(rendered)["serviceAccountName"] == "default"


def test_names_follow_the_release_and_fit(helm: Helm) -> None:
    rendered = helm.render("replicas=2", release="a" * 53)
    names = [each["metadata"]["name"] for each in (*rendered.all, *rendered.hooks)]
    assert max(map(len, names)) <= 63
    assert rendered.one("Deployment")["metadata"]["name"].endswith("-operator")
