"""What is added to containers that request an accelerator."""

from tests.unit.dialects.tensorflow.jobs import Json, decoded, entry, set_up, template, tfjob
from tfjob.dialects import legacy_gpu
from tfjob.dialects.base import Settings
from tfjob.dialects.tensorflow.accelerators import accelerated
from tfjob.dialects.tensorflow.config import Accelerator

KNOWN = {
    "b/gpu": Accelerator(
        volumes=[{"name": "lib", "mountPath": "/b", "hostPath": "/host/b"}],
        env=[{"name": "P", "value": "b"}],
    ),
    "a/gpu": Accelerator(
        volumes=[{"name": "lib", "mountPath": "/a", "hostPath": "/host/a"}],
        env=[{"name": "P", "value": "a"}, {"name": "Q", "value": "a"}],
    ),
}


def asking(*resources: str, **container: object) -> Json:
    found = template("tensorflow", "side")
    found["spec"]["containers"][0] |= {
        "resources": {"limits": dict.fromkeys(resources, 1)},
        **container,
    }
    return found


def test_several_resources_are_served_in_the_order_of_their_names() -> None:
    pod = accelerated(asking("b/gpu", "a/gpu"), KNOWN)["spec"]
    own, side = pod["containers"]
    assert pod["volumes"] == [{"name": "lib", "hostPath": {"path": "/host/a"}}]
    assert own["volumeMounts"] == [{"name": "lib", "mountPath": "/a"}]
    assert own["env"] == [{"name": "P", "value": "a"}, {"name": "Q", "value": "a"}]
    assert set(side) == {"name", "image"}


def test_what_the_user_wrote_stays() -> None:
    given = asking(
        "b/gpu",
        volumeMounts=[{"name": "lib", "mountPath": "/mine"}],
        env=[{"name": "P", "value": "mine"}],
    )
    given["spec"]["volumes"] = [{"name": "lib", "emptyDir": {}}]
    assert accelerated(given, KNOWN) == given


def test_injection_twice_is_injection_once() -> None:
    once = accelerated(asking("a/gpu"), KNOWN)
    assert accelerated(once, KNOWN) == once


def test_resources_of_other_containers_do_not_count() -> None:
    given = template("tensorflow", "side")
    given["spec"]["containers"][1]["resources"] = {"limits": {"a/gpu": 1}}
    assert accelerated(given, KNOWN) is given


def test_null_resources_ask_for_nothing() -> None:
    given = asking(resources=None)
    assert accelerated(given, KNOWN) is given
    assert accelerated(asking(resources={"limits": None}), {}) == asking(resources={"limits": None})


def test_given_template_is_not_changed() -> None:
    given = asking("a/gpu")
    accelerated(given, KNOWN)
    assert given == asking("a/gpu")


def test_seed_001_line_252_request_for_an_old_gpu_becomes_one_of_today() -> None:
    job = decoded(tfjob(entry(template=asking(legacy_gpu.LEGACY))))
    (container, _) = job.replicas[0].template["spec"]["containers"]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 1}}
    ((reason, message),) = job.warnings
    assert reason == "LegacyGPU"
    assert message == (
        "MASTER: template.spec.containers[0].resources.limits asks for"
        " alpha.kubernetes.io/nvidia-gpu, which Kubernetes has not offered since 1.11:"
        " the pods ask for nvidia.com/gpu instead; write nvidia.com/gpu"
    )


def test_old_gpu_is_passed_on_where_translation_is_off() -> None:
    settings = Settings(options={"translate-legacy-gpu": "false"})
    job = decoded(tfjob(entry(template=asking(legacy_gpu.LEGACY))), settings)
    (container, _) = job.replicas[0].template["spec"]["containers"]
    assert container["resources"] == {"limits": {legacy_gpu.LEGACY: 1}}
    ((_, message),) = job.warnings
    assert "the pods stay Pending; write nvidia.com/gpu" in message


def test_drivers_configured_for_an_old_gpu_are_added_to_the_translated_pod() -> None:
    known = {legacy_gpu.LEGACY: KNOWN["a/gpu"]}
    job = decoded(tfjob(entry(template=asking(legacy_gpu.LEGACY))), set_up(accelerators=known))
    pod = job.replicas[0].template["spec"]
    assert pod["volumes"] == [{"name": "lib", "hostPath": {"path": "/host/a"}}]
    assert pod["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu": 1}}
