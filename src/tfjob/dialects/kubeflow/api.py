"""Constants of the kubeflow.org API: names, labels, replica types and messages.

Dashboards, SDKs and scripts match these texts byte for byte.
"""

from tfjob.core.messages import Messages, MessageTemplate

GROUP = "kubeflow.org"
KIND = "TFJob"
LIST_KIND = "TFJobList"
PLURAL = "tfjobs"
SINGULAR = "tfjob"
SHORT_NAME = "tfj"
VERSION = "v1"
OLD_VERSION = "v1beta1"
API_VERSION = f"{GROUP}/{VERSION}"
OLD_API_VERSION = f"{GROUP}/{OLD_VERSION}"
DEPRECATION = "kubeflow.org/v1beta1 TFJob is deprecated; use kubeflow.org/v1 TFJob"
V1_ONLY = "training.kubeflow.org/v1-only-fields"
"""The annotation in which a v1beta1 job keeps the fields that only v1 has."""
MANAGER = "kubeflow.org/training-operator"
MANAGERS = (MANAGER, "kueue.x-k8s.io/multikueue")
OPERATOR = "tfjob-controller"
PORT_NAME = "tfjob-port"
PORT = 2222

LABEL_OPERATOR = "training.kubeflow.org/operator-name"
LABEL_JOB = "training.kubeflow.org/job-name"
LABEL_TYPE = "training.kubeflow.org/replica-type"
LABEL_INDEX = "training.kubeflow.org/replica-index"
LABEL_ROLE = "training.kubeflow.org/job-role"
CHILD_SELECTOR = f"{LABEL_OPERATOR}={OPERATOR}"

TYPES = ("Chief", "Master", "PS", "Worker", "Evaluator")
"""In the order in which their children are created."""
DECISIVE_TYPES = ("Chief", "Master")
BY_LOWER_CASE = {kind.lower(): kind for kind in TYPES}

_FAILED = "TFJobFailed"

MESSAGES = Messages(
    created=MessageTemplate("TFJobCreated", "TFJob {name} is created."),
    running=MessageTemplate("TFJobRunning", "TFJob {namespace}/{name} is running."),
    restarting=MessageTemplate(
        "TFJobRestarting", "job {name} is restarting because {type} replica(s) failed."
    ),
    succeeded=MessageTemplate("TFJobSucceeded", "TFJob {namespace}/{name} successfully completed."),
    suspended=MessageTemplate("TFJobSuspended", "TFJob {name} is suspended."),
    resumed=MessageTemplate("TFJobResumed", "TFJob {name} is resumed."),
    failed=MessageTemplate(
        _FAILED,
        "TFJob {namespace}/{name} has failed because {count} {type} replica(s) failed.",
    ),
    failed_exit_code=MessageTemplate(
        _FAILED, 'job "{name}" is failing because "{type}" replica(s) failed.'
    ),
    failed_backoff=MessageTemplate(
        _FAILED, "Job {name} has failed because it has reached the specified backoff limit"
    ),
    failed_deadline=MessageTemplate(
        _FAILED, "Job {name} has failed because it was active longer than specified deadline"
    ),
    invalid=MessageTemplate(
        "InvalidTFJobSpec",
        "Failed to marshal the object to TFJob; the spec is invalid: {detail}",
    ),
    exited=MessageTemplate("ExitedWithCode", "Pod: {namespace}.{pod} exited with code {code}"),
    template_policy=MessageTemplate(
        "SetPodTemplateRestartPolicy",
        "Restart policy in pod template will be overwritten by restart policy in replica spec",
    ),
    other_scheduler=MessageTemplate(
        "SetPodTemplateSchedulerName",
        "Another scheduler is specified when gang-scheduling is enabled"
        " and it will not be overwritten",
    ),
    container_terminated=MessageTemplate(
        "", "Error pod {pod} container {container} exitCode: {code} terminated message: {msg}"
    ),
    container_waiting=MessageTemplate(
        "", "Error pod {pod} container {container} waiting message: {msg}"
    ),
    pod_condition=MessageTemplate("", "Error pod {pod} condition message: {msg}"),
    stuck_terminating=MessageTemplate(
        "PodStuckTerminating",
        "Pod {pod} on {node} is still terminating 5 minutes after its grace period;"
        " its replica is recreated once the pod is gone",
    ),
    group_terminated=MessageTemplate("JobTerminated", "Job has been terminated. Deleting PodGroup"),
    child_created=MessageTemplate("SuccessfulCreate{kind}", "Created {noun}: {child}"),
    child_create_failed=MessageTemplate("FailedCreate{kind}", "Error creating: {error}"),
    child_deleted=MessageTemplate("SuccessfulDelete{kind}", "Deleted {noun}: {child}"),
    child_delete_failed=MessageTemplate("FailedDelete{kind}", "Error deleting: {error}"),
    component=OPERATOR,
    master_advice="name the replica type Chief",
    coordinator_advice="add a Chief",
)
