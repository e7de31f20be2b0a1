"""Settings from the flags and environment variables of training-operator 1.9."""

import argparse
from datetime import timedelta
from pathlib import Path

import pytest

from tfjob.controller.pacing import PacingConfig
from tfjob.dialects.tensorflow.config import ControllerConfig
from tfjob.manager import settings
from tfjob.manager.settings import Settings, SettingsError


def read(*words: str, **environment: str) -> Settings:
    parser = argparse.ArgumentParser(exit_on_error=False)
    settings.add_arguments(parser)
    return settings.read(parser.parse_args(settings.go_style(words)), environment)


def test_defaults_are_those_of_the_contract() -> None:
    found = read()
    assert found == Settings()
    assert found.metrics_address == ":8080"
    assert found.health_address == ":8081"
    assert not found.is_leader_elected
    assert found.lease_name == "1ca428e5.training-operator.kubeflow.org"
    assert found.lease_namespace == "kubeflow"
    assert found.namespace is None
    assert (found.qps, found.burst) == (None, None)
    assert found.resync == timedelta(minutes=10)
    assert found.jobs.default_clean_pod_policy == "None"
    assert found.jobs.exit_code_table == "default"
    assert found.jobs.force_delete_after is None
    assert not found.jobs.has_legacy_labels
    assert not found.jobs.has_evaluator_in_cluster
    assert not found.jobs.has_kueue_pod_groups
    assert found.notes == ()


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        (["--metrics-bind-address", "127.0.0.1:1"], "metrics_address", "127.0.0.1:1"),
        (["--health-probe-bind-address=0"], "health_address", "0"),
        (["--leader-elect"], "is_leader_elected", True),
        (["--leader-elect=true"], "is_leader_elected", True),
        (["--leader-elect=false"], "is_leader_elected", False),
        (["-leader-elect"], "is_leader_elected", True),
        (["--leader-election-id", "x"], "lease_name", "x"),
        (["--namespace", "team"], "namespace", "team"),
        (["-namespace=team"], "namespace", "team"),
        (["--controller-threads", "4"], "threads", 4),
        (["--kube-api-qps", "20.5"], "qps", 20.5),
        (["--kube-api-qps", "0"], "qps", None),
        (["--kube-api-qps=-1"], "qps", None),
        (["--kube-api-burst", "30"], "burst", 30),
        (["--kube-api-burst=-1"], "burst", None),
        (["--kubeconfig", "f"], "kubeconfig", "f"),
        (["--resync-period", "1h30m"], "resync", timedelta(hours=1, minutes=30)),
        (["--resync-period", "0"], "resync", timedelta()),
        ([], "pacing", PacingConfig(is_on=True, status_delay=3.0, event_delay=120.0)),
        (["--pacing=off"], "pacing", PacingConfig(is_on=False)),
        (["--pacing-status-delay=500ms"], "pacing", PacingConfig(status_delay=0.5)),
        (["--pacing-event-delay", "0"], "pacing", PacingConfig(event_delay=0.0)),
        ([], "log_format", "console"),
        (["--zap-devel=false"], "log_format", "json"),
        (["--zap-devel", "--zap-encoder=json"], "log_format", "json"),
        (["--zap-devel=false", "--zap-encoder", "console"], "log_format", "console"),
        (["--zap-log-level", "debug"], "log_level", "debug"),
        (["--zap-log-level", "2"], "log_level", "debug"),
        (["--zap-log-level", "WARN"], "log_level", "warning"),
        (["--zap-log-level", "panic"], "log_level", "error"),
    ],
)
def test_flag_of_the_process(words: list[str], field: str, value: object) -> None:
    assert getattr(read(*words), field) == value


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        (["--gang-scheduler-name", "volcano"], "gang_scheduler_name", "volcano"),
        (["--exit-code-table", "default"], "exit_code_table", "default"),
        (["--default-clean-pod-policy", "All"], "default_clean_pod_policy", "All"),
        (["--force-delete-stuck-after", "5m"], "force_delete_after", timedelta(minutes=5)),
        (["--force-delete-stuck-after", "0"], "force_delete_after", None),
        (["--legacy-labels"], "has_legacy_labels", True),
        (["--result-finalizers"], "has_result_finalizers", True),
        (["--evaluator-in-cluster"], "has_evaluator_in_cluster", True),
    ],
)
def test_flag_about_jobs(words: list[str], field: str, value: object) -> None:
    assert getattr(read(*words).jobs, field) == value


def test_environment_is_read_unless_a_flag_overrides_it() -> None:
    found = read(KUBEFLOW_NAMESPACE="a", MY_POD_NAMESPACE="b", CUSTOM_CLUSTER_DOMAIN="c.test")
    assert (found.namespace, found.lease_namespace) == ("a", "b")
    assert found.jobs.cluster_domain == "c.test"
    assert read("--namespace", "flag", KUBEFLOW_NAMESPACE="a").namespace == "flag"
    assert read(KUBEFLOW_NAMESPACE="").namespace is None


@pytest.mark.scenario(134)
def test_scheme_tfjob_is_served_in_any_case_and_an_unknown_one_is_rejected() -> None:
    assert read("--enable-scheme", "TFJob").notes == ()
    assert read("--enable-scheme", "tfjob").notes == ()
    with pytest.raises(SettingsError, match=r"^scheme nosuch is not supported yet$"):
        read("--enable-scheme", "nosuch")


def test_scheme_of_another_kind_is_logged_and_ignored() -> None:
    found = read("--enable-scheme=tfjob", "--enable-scheme=PyTorchJob")
    assert found.notes == (
        "--enable-scheme PyTorchJob: only TensorFlow jobs are supported; ignored",
    )


@pytest.mark.parametrize(
    ("schemes", "groups"),
    [
        ([], {"kubeflow.org"}),
        (["PyTorchJob"], {"kubeflow.org"}),
        (["tfjob"], {"kubeflow.org"}),
        (["TfJob.tensorflow.org"], {"tensorflow.org"}),
        (["tfjob", "TensorFlowTrainingJob"], {"kubeflow.org", "batch.tensorstack.dev"}),
    ],
)
def test_schemes_choose_whose_jobs_are_served(schemes: list[str], groups: set[str]) -> None:
    found = read(*(f"--enable-scheme={scheme}" for scheme in schemes))
    known = ("kubeflow.org", "tensorflow.org", "batch.tensorstack.dev")
    assert {each for each in known if found.serves(each)} == groups


@pytest.mark.parametrize("flag", ["--controller-config-file", "-controller_config_file"])
def test_configuration_is_read_from_the_file_that_a_flag_names(flag: str, tmp_path: Path) -> None:
    file = tmp_path / "any.yaml"
    file.write_text("tfImage: mine\n", encoding="utf-8")
    words = settings.go_style([f"{flag}={file}"])
    expected = {"controller-config-file": ControllerConfig(tf_image="mine")}
    assert read(*words).jobs.options == expected


def test_configuration_that_does_not_exist_is_empty_and_not_worth_a_warning(
    tmp_path: Path,
) -> None:
    """The chart always mounts the folder, and most installations have no such ConfigMap."""
    found = read("--controller-config-file", str(tmp_path))
    assert found.jobs.options == {}
    assert found.notes == ()


def test_configuration_that_cannot_be_read_is_rejected_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=f"^--controller-config-file {tmp_path}/none: cannot"):
        read("--controller-config-file", str(tmp_path / "none"))


def test_pod_group_backend_is_one_of_the_known_ones() -> None:
    assert read().jobs.options == {}
    assert read("--t9k-pod-group-backend", "t9k").jobs.options == {}
    assert read("--t9k-pod-group-backend", "none").jobs.options["t9k-pod-group-backend"] == "none"
    with pytest.raises(argparse.ArgumentError):
        read("--t9k-pod-group-backend", "others")


def test_switch_of_a_dialect_is_on_without_a_value() -> None:
    assert read("--translate-legacy-gpu").jobs.options == {}
    off = read("--translate-legacy-gpu=false").jobs.options
    assert off == {"translate-legacy-gpu": "false"}


@pytest.mark.parametrize(
    "flag",
    [
        "webhook-server-port",
        "webhook-service-name",
        "webhook-secret-name",
        "pytorch-init-container-image",
        "pytorch-init-container-template-file",
        "pytorch-init-container-max-tries",
        "mpi-kubectl-delivery-image",
        "zap-stacktrace-level",
        "zap-time-encoding",
        "chaos-level",
        "gc-interval",
        "alsologtostderr",
        "v",
    ],
)
def test_flag_without_effect_is_accepted_and_logged_once(flag: str) -> None:
    assert read(f"--{flag}", "x").notes == (f"--{flag} has no effect in this operator",)


def test_switches_of_tf_operator_need_no_value() -> None:
    notes = (
        "--alsologtostderr has no effect in this operator",
        "--v has no effect in this operator",
    )
    assert read(*settings.go_style(["-alsologtostderr", "-v=2"])).notes == notes


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--controller-threads", "0"], "'0' is not a whole number of at least 1"),
        (["--controller-threads", "x"], "'x' is not a whole number of at least 1"),
        (["--resync-period", "soon"], "'soon' is not a duration; use 90s, 10m or 1h30m"),
        (["--resync-period", "1h nonsense"], "is not a duration"),
        (["--resync-period", "9" * 20 + "h"], "h' is too long; use 90s, 10m or 1h30m"),
        (["--resync-period", "9" * 400], "' is too long; use 90s, 10m or 1h30m"),
        (["--leader-elect=maybe"], "'maybe' is neither true nor false"),
        (["--default-clean-pod-policy", "Some"], "invalid choice: 'Some'"),
        (
            ["--zap-log-level", "loud"],
            "'loud' is not a log level; use one of debug, error, info, warn",
        ),
        (["--zap-log-level", "0"], "'0' is not a log level"),
    ],
)
def test_invalid_value_is_rejected(words: list[str], sentence: str) -> None:
    with pytest.raises(argparse.ArgumentError) as caught:
        read(*words)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("word", ["--qps=5", "--threadiness=1", "--json-log-format"])
def test_spelling_of_older_operators_is_unknown(word: str) -> None:
    parser = argparse.ArgumentParser()
    settings.add_arguments(parser)
    assert parser.parse_known_args([word])[1] == [word]


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("1h30m", 5400), ("500ms", 0.5), ("7", 7)]
)
def test_duration_is_read_as_go_writes_it(text: str, seconds: float) -> None:
    assert settings.duration(text) == timedelta(seconds=seconds)


def test_one_dash_becomes_two_only_before_long_names() -> None:
    words = ["operator", "-namespace", "x", "-h", "--leader-elect", "-zap-devel=false", "-5"]
    assert settings.go_style(words) == [
        "operator",
        "--namespace",
        "x",
        "-h",
        "--leader-elect",
        "--zap-devel=false",
        "-5",
    ]


def test_the_help_names_the_default_delay_of_a_status() -> None:
    parser = argparse.ArgumentParser(exit_on_error=False)
    settings.add_arguments(parser)
    shown = " ".join(parser.format_help().split())
    assert f"under load (default: {PacingConfig().status_delay:g}s)" in shown
