"""The operator's settings, from command-line flags and environment variables.

The flags are those of training-operator 1.9, so that a Deployment written for it can start this
operator. Flags without effect here are accepted and logged once; unknown flags are refused.
"""

import argparse
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

import msgspec

from tfjob.controller.pacing import PacingConfig
from tfjob.core.job import Recovery
from tfjob.dialects.base import Settings as JobSettings
from tfjob.dialects.kubeflow.job import EXIT_CODES
from tfjob.dialects.registry import DESCRIPTORS
from tfjob.manager import dialect_flags

LEASE_NAME: Final = "1ca428e5.training-operator.kubeflow.org"
_SCHEMES: Final = {each.scheme: each.group for each in DESCRIPTORS}
"""The API group of each kind of job that can be served."""
DEFAULT_GROUPS: Final = frozenset(each.group for each in DESCRIPTORS if each.is_default)
_OTHER_SCHEMES: Final = ("pytorchjob", "mpijob", "xgboostjob", "paddlejob", "jaxjob")
_IGNORED: Final = (
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
)
_IGNORED_SWITCHES: Final = ("alsologtostderr", "v")
"""Switches of tf-operator, which may be given with or without a value."""
_LEVELS: Final = {
    "debug": "debug",
    "info": "info",
    "warn": "warning",
    "warning": "warning",
    "error": "error",
    "dpanic": "error",
    "panic": "error",
    "fatal": "error",
}
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    metrics_address: str = ":8080"
    health_address: str = ":8081"
    reviews_metrics_readers: bool = False
    is_leader_elected: bool = False
    lease_name: str = LEASE_NAME
    lease_namespace: str = "kubeflow"
    namespace: str | None = None
    threads: int = 16
    qps: float | None = None
    burst: int | None = None
    kubeconfig: str | None = None
    resync: timedelta = timedelta(minutes=10)
    watch_timeout: timedelta = timedelta(minutes=5)
    """A healthy watch always makes progress within this time; zero for no limit."""
    pacing: PacingConfig = PacingConfig()
    log_format: str = "console"
    log_level: str = "info"
    jobs: JobSettings = JobSettings()
    groups: frozenset[str] = DEFAULT_GROUPS
    """The API groups whose jobs are served."""
    notes: tuple[str, ...] = ()

    def serves(self, group: str) -> bool:
        return group in self.groups


class SettingsError(ValueError):
    """A flag has an invalid value; the message names the flag and the allowed values."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add all flags, with the names that training-operator 1.9 uses."""
    _add_process_flags(parser)
    _add_pacing_flags(parser)
    _add_gang_flags(parser)
    _add_job_flags(parser)
    for name in _IGNORED:
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS)
    for name in _IGNORED_SWITCHES:
        spellings = [f"--{name}", *([f"-{name}"] if len(name) == 1 else [])]
        parser.add_argument(*spellings, nargs="?", const="true", help=argparse.SUPPRESS)


def go_style(words: Sequence[str]) -> list[str]:
    """Convert single-dash flags, as Go programs accept them, to double-dash flags."""
    return [f"-{word}" if re.match(r"-[a-z][a-z-]", word) else word for word in words]


def read(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Settings:
    given: dict[str, Any] = vars(arguments)
    schemes = {scheme.lower() for scheme in given["enable_scheme"]} & _SCHEMES.keys()
    options = _options(arguments)
    qps, burst = given["kube_api_qps"], given["kube_api_burst"]
    return Settings(
        metrics_address=given["metrics_bind_address"],
        health_address=given["health_probe_bind_address"],
        reviews_metrics_readers=given["metrics_token_review"],
        is_leader_elected=given["leader_elect"],
        lease_name=given["leader_election_id"],
        lease_namespace=environment.get("MY_POD_NAMESPACE") or "kubeflow",
        namespace=given["namespace"] or environment.get("KUBEFLOW_NAMESPACE") or None,
        threads=given["controller_threads"],
        qps=qps if qps and qps > 0 else None,
        burst=burst if burst and burst > 0 else None,
        kubeconfig=given["kubeconfig"],
        resync=given["resync_period"],
        watch_timeout=given["watch_progress_timeout"],
        pacing=PacingConfig(
            is_on=given["pacing"] == "on",
            status_delay=given["pacing_status_delay"].total_seconds(),
            event_delay=given["pacing_event_delay"].total_seconds(),
        ),
        log_format=given["zap_encoder"] or ("console" if given["zap_devel"] else "json"),
        log_level=given["zap_log_level"],
        jobs=msgspec.structs.replace(_job_settings(given, environment), options=options),
        groups=frozenset(_SCHEMES[scheme] for scheme in schemes) or DEFAULT_GROUPS,
        notes=(*_scheme_notes(given["enable_scheme"]), *_ignored_notes(given)),
    )


def _add_process_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--kubeconfig",
        metavar="FILE",
        help="kubeconfig file (default: $KUBECONFIG, then the pod's service account, then"
        " ~/.kube/config)",
    )
    add("--namespace", metavar="NS", help="serve one namespace only (env KUBEFLOW_NAMESPACE)")
    add(
        "--metrics-bind-address",
        default=":8080",
        metavar="ADDR",
        help="address of /metrics (default: :8080; 0 disables it)",
    )
    _add_switch(
        parser,
        "--metrics-token-review",
        help="serve /metrics only to bearer tokens whose owner may get that URL",
    )
    add(
        "--health-probe-bind-address",
        default=":8081",
        metavar="ADDR",
        help="address of /healthz and /readyz (default: :8081; 0 disables them)",
    )
    _add_switch(parser, "--leader-elect", help="use leader election: only the leader reconciles")
    add("--leader-election-id", default=LEASE_NAME, metavar="NAME", help="name of the Lease")
    _add_rate_flags(parser)
    add(
        "--resync-period",
        type=duration,
        default=timedelta(minutes=10),
        metavar="TIME",
        help="reconcile every job again after this time (default: 10m; 0 disables resync)",
    )
    add(
        "--watch-progress-timeout",
        type=duration,
        default=timedelta(minutes=5),
        metavar="TIME",
        help="report not ready when a watch makes no progress for this time (default: 5m;"
        " 0: no limit)",
    )
    add(
        "--enable-scheme",
        action="append",
        default=[],
        metavar="KIND",
        help=f"kind of job to serve, repeatable: {', '.join(_SCHEMES)} (default: tfjob)",
    )
    _add_log_flags(parser)


def _add_rate_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--controller-threads",
        type=_positive,
        default=16,
        metavar="N",
        help="workers per API (default: 16); half as many more serve urgent jobs only",
    )
    add("--kube-api-qps", type=float, metavar="N", help="requests per second (default: no limit)")
    add("--kube-api-burst", type=int, metavar="N", help="burst under --kube-api-qps")


def _add_log_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    _add_switch(
        parser, "--zap-devel", default=True, help="log as text; --zap-devel=false logs JSON"
    )
    add("--zap-encoder", choices=("json", "console"), help="log format; overrides --zap-devel")
    add(
        "--zap-log-level",
        type=_level,
        default="info",
        metavar="LEVEL",
        help="debug, info, warning or error (default: info); a number above 0 means debug",
    )


def _add_pacing_flags(parser: argparse.ArgumentParser) -> None:
    add, bounds = parser.add_argument, PacingConfig()
    add(
        "--pacing",
        choices=("on", "off"),
        default="on",
        help="defer and batch routine writes under load (default: on)",
    )
    add(
        "--pacing-status-delay",
        type=duration,
        default=timedelta(seconds=bounds.status_delay),
        metavar="TIME",
        help="longest time that a routine status, in which only running counts changed, is deferred"
        f" under load (default: {bounds.status_delay:g}s)",
    )
    add(
        "--pacing-event-delay",
        type=duration,
        default=timedelta(seconds=bounds.event_delay),
        metavar="TIME",
        help="longest time that an event is deferred in favour of other requests (default: 2m)",
    )


def _add_gang_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--gang-scheduler-name",
        default="",
        metavar="NAME",
        help="gang scheduler: volcano, kubernetes for the PodGroups of scheduling.k8s.io (with the"
        " feature gate GangScheduling), or the name of a scheduler-plugins scheduler (default:"
        " none)",
    )
    _add_switch(
        parser,
        "--kueue-pod-groups",
        default=False,
        help="mark the pods of a job in a queue of Kueue as a pod group, which Kueue admits where"
        " it does not manage the job itself (default: false)",
    )


def _add_job_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--exit-code-table",
        choices=tuple(EXIT_CODES),
        default="default",
        help="exit codes that restartPolicy ExitCode treats as retryable (default: default)",
    )
    add(
        "--recovery",
        choices=tuple(map(str, Recovery)),
        default=str(Recovery.AUTO),
        help="Auto: a replica that ended because another one was lost is restarted and does not"
        " count; Group: the loss of a replica restarts all that train together with it at once;"
        " Replica: each replica is judged by its own exit code, as training-operator does"
        " (default: Auto)",
    )
    add(
        "--default-clean-pod-policy",
        choices=("None", "Running", "All"),
        default="None",
        help="cleanPodPolicy of jobs that set none (default: None)",
    )
    add(
        "--force-delete-stuck-after",
        type=duration,
        default=timedelta(),
        metavar="TIME",
        help="also force-delete pods that still terminate this long after their grace period,"
        " even if their node exists (default: off; pods of deleted nodes are always"
        " force-deleted)",
    )
    dialect_flags.add_arguments(parser)
    _add_switch(parser, "--legacy-labels", help="also set the labels of older operators")
    _add_switch(parser, "--evaluator-in-cluster", help="list evaluators in TF_CONFIG's cluster")
    _add_switch(
        parser,
        "--keep-last-lines",
        default=True,
        help="set terminationMessagePolicy FallbackToLogsOnError where a template does not say, so"
        " that the job keeps the last output of a failed replica (default: true)",
    )
    _add_switch(
        parser,
        "--result-finalizers",
        help="keep the pods that decide a job's result, by a finalizer, until their end is stored",
    )


def _add_switch(
    parser: argparse.ArgumentParser,
    name: str,
    *,
    default: bool = False,
    help: str,  # noqa: A002
) -> None:
    """Add a flag that takes no value, =true or =false."""
    parser.add_argument(
        name, nargs="?", const=True, default=default, type=_boolean, metavar="true|false", help=help
    )


def duration(text: str) -> timedelta:
    """`90s`, `1h30m`, `500ms`, or a bare number of seconds."""
    whole = f"{text}s" if re.fullmatch(r"\d+(\.\d+)?", text) else text
    parts = _DURATION.findall(whole)
    if not parts or "".join(number + unit for number, unit in parts) != whole:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration; use 90s, 10m or 1h30m")
    try:
        return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in parts))
    except OverflowError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is too long; use 90s, 10m or 1h30m") from error


def _boolean(text: str) -> bool:
    if text.lower() not in {"true", "false", "1", "0"}:
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text.lower() in {"true", "1"}


def _level(text: str) -> str:
    """A zap log level; zap's numbers above 0 are debug levels."""
    name = _LEVELS.get(text.lower(), "debug" if text.isdigit() and int(text) > 0 else "")
    if not name:
        allowed = ", ".join(sorted(set(_LEVELS.values())))
        raise argparse.ArgumentTypeError(f"{text!r} is not a log level; use one of {allowed}")
    return name


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _job_settings(given: Mapping[str, Any], environment: Mapping[str, str]) -> JobSettings:
    return JobSettings(
        default_clean_pod_policy=given["default_clean_pod_policy"],
        exit_code_table=given["exit_code_table"],
        has_legacy_labels=given["legacy_labels"],
        has_evaluator_in_cluster=given["evaluator_in_cluster"],
        keeps_last_lines=given["keep_last_lines"],
        recovery=given["recovery"],
        cluster_domain=environment.get("CUSTOM_CLUSTER_DOMAIN", ""),
        gang_scheduler_name=given["gang_scheduler_name"],
        has_kueue_pod_groups=given["kueue_pod_groups"],
        force_delete_after=given["force_delete_stuck_after"] or None,
        has_result_finalizers=given["result_finalizers"],
    )


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    try:
        return dialect_flags.read(arguments)
    except dialect_flags.FlagError as error:
        raise SettingsError(str(error)) from error


def _scheme_notes(schemes: Sequence[str]) -> list[str]:
    """Notes on training-operator's other kinds, which are ignored."""
    for scheme in schemes:
        if scheme.lower() not in (*_SCHEMES, *_OTHER_SCHEMES):
            raise SettingsError(f"scheme {scheme} is not supported yet")
    others = [scheme for scheme in schemes if scheme.lower() in _OTHER_SCHEMES]
    return [
        f"--enable-scheme {scheme}: only TensorFlow jobs are supported; ignored"
        for scheme in others
    ]


def _ignored_notes(given: Mapping[str, Any]) -> list[str]:
    names = (*_IGNORED, *_IGNORED_SWITCHES)
    used = [name for name in names if given[name.replace("-", "_")] is not None]
    return [f"--{name} has no effect in this operator" for name in used]
