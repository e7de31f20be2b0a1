"""What the chart renders from the values of one job API; no cluster is needed."""

import ast
import re
from pathlib import Path

import pytest
import yaml

from tests.support.fake_checkout import FakeCheckout
from tests.support.helm import CHART, EVERY_DIALECT, Helm, Json, Rendered, helm_at
from tfjob import __version__
from tfjob.dialects.descriptor import Descriptor
from tfjob.dialects.registry import DESCRIPTORS
from tfjob.dialects.tensorflow.config import read_config

pytestmark = pytest.mark.timeout(func_only=True)
CONFIG = "tf-job-operator-config"
ON = "dialects.tensorflow=true"
CRD = "CustomResourceDefinition"
FOLDER = "/etc/config"
LIBCUDA = "/usr/lib/x86_64-linux-gnu/libcuda.so.1"
OWN_IMAGE = f"tfjob:{__version__}"


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return helm_at(tmp_path_factory.mktemp("helm"))


def pod_of(rendered: Rendered) -> Json:
    spec: Json = rendered.one("Deployment")["spec"]["template"]["spec"]
    return spec


def trial_of(rendered: Rendered) -> list[Json]:
    """What `helm test` makes for its job."""
    name = "tfjob-tfjob-test"
    found = (*rendered.all, *rendered.hooks)
    return [each for each in found if each["metadata"]["name"] == name]


def test_every_api_of_jobs_has_a_file_that_can_be_applied_by_itself() -> None:
    found = [yaml.safe_load(each.read_text()) for each in (CHART / "files" / "crds").iterdir()]
    wanted = [each.definition for each in DESCRIPTORS]
    assert sorted(found, key=_name) == sorted(wanted, key=_name)


def _name(document: Json) -> str:
    name: str = document["metadata"]["name"]
    return name


def test_api_of_kubeflow_alone_is_served_unless_values_say_otherwise(helm: Helm) -> None:
    plain = helm.render()
    assert [_name(each) for each in plain.of(CRD)] == ["tfjobs.kubeflow.org"]
    schemes = [each for each in plain.flags() if each.startswith("--enable-scheme")]
    assert schemes == ["--enable-scheme=tfjob"]
    assert "volumes" not in pod_of(plain)
    assert trial_of(plain) == []
    rules = [rule for role in plain.of("ClusterRole") for rule in role["rules"]]
    assert not {"configmaps", "jobs", "deployments"} & {
        resource for rule in rules for resource in rule["resources"]
    }


@pytest.mark.parametrize("descriptor", DESCRIPTORS, ids=lambda each: each.name)
def test_api_that_is_served_brings_its_definition_as_it_is_and_leaves_it_behind(
    helm: Helm, descriptor: Descriptor
) -> None:
    found = helm.render(EVERY_DIALECT).of(CRD)
    [own] = [each for each in found if each["spec"]["group"] == descriptor.group]
    assert own["spec"] == descriptor.definition["spec"]
    assert own["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert len(found) == len(DESCRIPTORS)


@pytest.mark.parametrize("value", ["crds.install=false", "namespaced.enabled=true"])
def test_definitions_can_be_left_to_an_administrator(helm: Helm, value: str) -> None:
    assert CRD not in helm.render(value).kinds()


@pytest.mark.parametrize("value", ["cloud=gke", "tfImage=x", "config.configmap=x"])
def test_value_of_an_api_that_is_not_served_is_rejected(helm: Helm, value: str) -> None:
    assert "/dialects/tensorflow" in helm.refusal(value)


@pytest.mark.parametrize(
    ("cloud", "mounts"),
    [
        ("gke", {}),
        (
            "azure",
            {
                "alpha.kubernetes.io/nvidia-gpu": {
                    "lib": ("/usr/lib/nvidia-384", "/usr/local/nvidia/lib64"),
                    "bin": ("/usr/lib/nvidia-384/bin", "/usr/local/nvidia/bin"),
                    "libcuda": (LIBCUDA, LIBCUDA),
                }
            },
        ),
    ],
)
def test_cloud_writes_the_configuration_that_an_admin_would_write(
    helm: Helm, cloud: str, mounts: Json
) -> None:
    found = helm.render(ON, f"cloud={cloud}").one("ConfigMap")
    assert (found["metadata"]["name"], found["metadata"]["namespace"]) == (CONFIG, "kubeflow")
    assert found["data"].keys() == {"controller_config_file.yaml"}
    value = yaml.safe_load(found["data"]["controller_config_file.yaml"])
    config, faults = read_config(value)
    assert faults == []
    assert all(each.env == [] for each in config.accelerators.values())
    assert mounts == {
        resource: {each["name"]: (each["hostPath"], each["mountPath"]) for each in found.volumes}
        for resource, found in config.accelerators.items()
    }


def test_image_of_servers_and_tensorboard_is_configured_with_the_cloud(helm: Helm) -> None:
    for values in ("tfImage=example.invalid/tf:2", "tfImage=example.invalid/tf:2,cloud=azure"):
        data = helm.render(ON, values).one("ConfigMap")["data"]
        config, faults = read_config(yaml.safe_load(data["controller_config_file.yaml"]))
        assert (config.tf_image, faults) == ("example.invalid/tf:2", [])
        assert bool(config.accelerators) == ("azure" in values)


def test_configuration_of_an_admin_is_used_if_it_is_there(helm: Helm) -> None:
    """The order of the first operator's instructions: the ConfigMap, then the chart."""
    plain = helm.render(ON)
    assert "ConfigMap" not in plain.kinds()
    [volume] = pod_of(plain)["volumes"]
    assert volume["configMap"] == {"name": CONFIG, "optional": True}
    [mount] = pod_of(plain)["containers"][0]["volumeMounts"]
    assert (mount["mountPath"], mount["readOnly"]) == (FOLDER, True)
    assert f"--controller-config-file={FOLDER}" in plain.flags()


def test_configuration_that_was_named_must_exist(helm: Helm) -> None:
    file = f"{FOLDER}/mine.yaml"
    named = helm.render(ON, f"config.configmap=mine,config.file={file}")
    [volume] = pod_of(named)["volumes"]
    assert volume["configMap"] == {"name": "mine", "optional": False}
    assert f"--controller-config-file={file}" in named.flags()
    assert "/cloud" in helm.refusal(ON, "config.configmap=mine,cloud=gke")


def test_another_configuration_starts_another_pod(helm: Helm) -> None:
    templates = [
        helm.render(ON, *values).one("Deployment")["spec"]["template"]["metadata"]["annotations"]
        for values in ((), ("cloud=azure",), ("cloud=azure", "replicas=2"))
    ]
    assert templates[0] != templates[1] == templates[2]


@pytest.mark.parametrize(
    ("values", "has_roles"),
    [
        ("rbac.install=true", True),
        ("rbac.install=false", False),
        ("rbac.install=true,rbac.create=false", True),
        ("rbac.create=false", False),
    ],
)
def test_roles_obey_the_older_name_too(helm: Helm, values: str, has_roles: bool) -> None:
    rendered = helm.render(f"{values},userRoles.create=false")
    assert ("ClusterRole" in rendered.kinds()) == has_roles


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ("cloud=aws", "/cloud"),
        ("rbac.apiVersion=v1beta1", "/rbac/apiVersion"),
        ("config.file=relative.yaml", "/config/file"),
        ("dialects.pytorch=true", "/dialects"),
        ("dialects.kubeflow=false", "/dialects"),
    ],
)  # fmt: skip
def test_nonsense_is_rejected_with_its_place(helm: Helm, values: str, place: str) -> None:
    assert place in helm.refusal(values)


@pytest.mark.parametrize("role", ["admin", "edit", "view"])
def test_people_may_handle_the_jobs_that_are_served(helm: Helm, role: str) -> None:
    def handled(*values: str) -> set[str]:
        roles = helm.render(*values).of("ClusterRole")
        [found] = [each for each in roles if each["metadata"]["name"].endswith(f"training-{role}")]
        return {group for rule in found["rules"] for group in rule["apiGroups"] if group}

    assert handled() == {"kubeflow.org"}
    assert handled(EVERY_DIALECT) == {each.group for each in DESCRIPTORS}
    assert handled(ON, "dialects.kubeflow=false") == {"tensorflow.org"}


def test_trial_job_has_its_own_account_with_its_own_rights(helm: Helm) -> None:
    rendered = helm.render(ON, "namespaced.enabled=true,namespaced.namespace=ml")
    mine = trial_of(rendered)
    places = {each["kind"]: each["metadata"]["namespace"] for each in mine}
    assert places == {
        "ServiceAccount": "kubeflow",
        "Role": "ml",
        "RoleBinding": "ml",
        "Pod": "kubeflow",
    }
    [pod] = [each for each in mine if each["kind"] == "Pod"]
    command = pod["spec"]["containers"][0]["command"]
    assert "--namespace=ml" in command
    assert ast.parse(command[2])
    assert pod["spec"]["serviceAccountName"] == "tfjob-tfjob-test"


def test_only_pods_of_one_container_are_hooks_of_the_test(helm: Helm) -> None:
    """`helm test --logs` asks for the log of every hook, after the test, without a container."""
    hooks = helm.render(EVERY_DIALECT).hooks
    assert {each["kind"] for each in hooks} == {"Pod"}
    assert {len(each["spec"]["containers"]) for each in hooks} == {1}
    policies = {each["metadata"]["annotations"]["helm.sh/hook-delete-policy"] for each in hooks}
    assert policies == {"before-hook-creation"}


def test_trial_job_takes_an_image_with_a_command_of_its_own(helm: Helm) -> None:
    for image, has_command in (("", True), ("example.invalid/sample", False)):
        trial = trial_of(helm.render(ON, f"test_image={image}"))
        [pod] = [each for each in trial if each["kind"] == "Pod"]
        command = pod["spec"]["containers"][0]["command"]
        assert ("--" in command) == has_command
        assert f"--image={image or OWN_IMAGE}" in command


def test_trial_job_and_its_role_can_be_left_out(helm: Helm) -> None:
    assert len(trial_of(helm.render(ON))) == 4
    assert trial_of(helm.render(ON, "testJob.enabled=false")) == []


def test_api_that_is_not_served_leaves_nothing_of_itself(helm: Helm) -> None:
    without = helm.render(EVERY_DIALECT, "dialects.tensorflow=false")
    assert "ConfigMap" not in without.kinds()
    assert "volumes" not in pod_of(without)
    assert trial_of(without) == []
    assert trial_of(helm.render(ON, "rbac.create=false")) == []
    assert "--enable-scheme=tfjob.tensorflow.org" not in without.flags()
    assert "--enable-scheme=tensorflowtrainingjob" in without.flags()


def test_api_that_is_added_is_one_value_away(helm: Helm, tmp_path: Path) -> None:
    """The chart of a checkout to which the made-up API of the tests was added."""
    chart = str(FakeCheckout(tmp_path).root / "charts" / "tfjob")
    helm("lint", "--strict", chart)
    assert "toy" not in helm("template", "tfjob", chart)
    on = ("--set", "dialects.toy=true,operator.toyBoards=on")
    rendered = Rendered(yaml.safe_load_all(helm("template", "tfjob", chart, *on)))
    assert "toyjobs.toy.example" in [_name(each) for each in rendered.of(CRD)]
    assert {"--enable-scheme=toyjob", "--toy-boards=on"} <= {*rendered.flags()}
    [role] = [each for each in rendered.of("ClusterRole") if _name(each) == "tfjob-operator"]
    granted = {resource for rule in role["rules"] for resource in rule["resources"]}
    assert {"toyjobs", "toyjobs/status", "configmaps", "boards"} <= granted


def test_configuration_that_the_guide_shows_is_understood() -> None:
    guide = (CHART.parents[1] / "docs" / "guide" / "tfjob-v1alpha1.md").read_text()
    [shown] = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    document = yaml.safe_load(shown)
    assert document["metadata"]["name"] == CONFIG
    config, faults = read_config(yaml.safe_load(document["data"]["controller_config_file.yaml"]))
    assert faults == []
    assert config.accelerators.keys() == {"alpha.kubernetes.io/nvidia-gpu"}


def test_values_that_the_guide_tells_of_exist() -> None:
    guide = (CHART.parents[1] / "docs" / "guide" / "tfjob-v1alpha1.md").read_text()
    table = guide.partition("| chart value |")[2].partition("\n\n")[0]
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    told = re.findall(r"`([\w.]+)`", "\n".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)))
    assert {"cloud", "config.file", "rbac.install"} <= set(told)
    for path in told:
        found = values
        for part in path.split("."):
            assert part in found, path
            found = found[part]
