"""Files with common mistakes, and what is reported: line, path, fault and remedy."""

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.job_files import written
from tests.unit.cli.conftest import Command

HEAD = """\
apiVersion: kubeflow.org/v1
kind: TFJob
metadata:
  name: hello
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 1
      template:
        spec:
          containers:
          - name: tensorflow
            image: img
"""
CONTAINER = "spec.tfReplicaSpecs[Worker].template.spec.containers[0]"


class Bad(NamedTuple):
    """The head followed by these lines, or the head with one text replaced."""

    lines: str
    line: int
    says: str
    remedy: str
    instead: tuple[str, str] = ("", "")

    @property
    def text(self) -> str:
        old, new = self.instead
        head = HEAD.replace(old, new) if old else HEAD
        return head + "".join(f"{' ' * 12}{line}\n" for line in self.lines.splitlines())


CORPUS = {
    "string as command": Bad(
        "command: python train.py --lr 0.1",
        14,
        f'{CONTAINER}.command: Invalid value: "python train.py --lr 0.1":'
        " must be a list of strings, not a string",
        "write it as a list, such as [python, train.py, --lr, 0.1]",
    ),
    "quotes in a command": Bad(
        "command: sh -c 'echo a; exit'",
        14,
        f"{CONTAINER}.command: Invalid value: ",
        'write it as a list, such as [sh, -c, "echo a; exit"]',
    ),
    "number as argument": Bad(
        "args: [--lr, 0.001]",
        14,
        f"{CONTAINER}.args[1]: Invalid value: 0.001: must be a string, not a number",
        'put it in quotes: "0.001"',
    ),
    "number as variable": Bad(
        "env:\n- name: A\n  value: 1",
        16,
        f"{CONTAINER}.env[0].value: Invalid value: 1: must be a string, not a number",
        'put it in quotes: "1"',
    ),
    "truth as variable": Bad(
        "env:\n- name: A\n  value: yes",
        16,
        f"{CONTAINER}.env[0].value: Invalid value: true: must be a string, not true or false",
        'put it in quotes: "true"',
    ),
    "object as variable": Bad(
        "env:\n- name: A\n  value: {a: 1}",
        16,
        f"{CONTAINER}.env[0].value: Invalid value: ",
        "write it as text, in quotes if it contains a colon and a space",
    ),
    "variable without a name": Bad(
        "env:\n- value: x",
        15,
        f"{CONTAINER}.env[0].name: Required value: must be set",
        "add the field",
    ),
    "unit with a blank": Bad(
        "resources:\n  limits:\n    memory: 2 GB",
        16,
        f'{CONTAINER}.resources.limits[memory]: Invalid value: "2 GB":'
        " must be an amount such as 500m, 2 or 4Gi",
        "write 2G, without a space and without B",
    ),
    "binary unit": Bad(
        "resources: {requests: {memory: 1.5gib}}",
        14,
        f'{CONTAINER}.resources.requests[memory]: Invalid value: "1.5gib"',
        "write 1.5Gi, without a space and without B",
    ),
    "words as amount": Bad(
        "resources: {limits: {cpu: two}}",
        14,
        f'{CONTAINER}.resources.limits[cpu]: Invalid value: "two"',
        "write a number with a unit, such as 500m, 2 or 4Gi",
    ),
    "request above its limit": Bad(
        "resources: {limits: {cpu: 1}, requests: {cpu: 2}}",
        14,
        f'{CONTAINER}.resources.requests: Invalid value: "2":'
        " must be less than or equal to cpu limit of 1",
        "change the value, or remove the field",
    ),
    "mount of an unknown volume": Bad(
        "volumeMounts:\n- name: nope\n  mountPath: /data",
        15,
        f'{CONTAINER}.volumeMounts[0].name: Not found: "nope": the pod has no volumes',
        "add a volume named nope to spec.volumes of the template",
    ),
    "mount of a misspelt volume": Bad(
        "volumeMounts:\n- {name: dtaa, mountPath: /data}",
        15 + 1,
        f'{CONTAINER}.volumeMounts[0].name: Not found: "dtaa": the pod\'s volumes are data',
        "did you mean data? Otherwise add a volume named dtaa to spec.volumes of the template",
        ("          containers:", "          volumes: [{name: data}]\n          containers:"),
    ),
    "field misspelt beside the right one": Bad(
        "comand: [a]\ncommand: [b]",
        14,
        f"{CONTAINER}.comand: Invalid value: unknown pod field, similar to command",
        "remove it: command is already set",
    ),
    "misspelt list": Bad(
        "volumeMount: []",
        14,
        f"{CONTAINER}.volumeMount: Invalid value: unknown pod field, similar to volumeMounts",
        "did you mean volumeMounts?",
    ),
    "field in other letters": Bad(
        "imagepullpolicy: Always",
        14,
        f"{CONTAINER}.imagepullpolicy: Invalid value: unknown pod field",
        "did you mean imagePullPolicy?",
    ),
    "misspelt field of a pod": Bad(
        "",
        11,
        "spec.tfReplicaSpecs[Worker].template.spec.nodeSelectors: Invalid value: unknown pod field",
        "did you mean nodeSelector?",
        ("          containers:", "          nodeSelectors: {a: b}\n          containers:"),
    ),
    "unknown pull policy": Bad(
        "imagePullPolicy: Sometimes",
        14,
        f'{CONTAINER}.imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always"',
        "use one of the supported values, or leave the field out",
    ),
    "port name too long": Bad(
        "ports: [{name: a-very-long-port-name, containerPort: 1}]",
        14,
        f'{CONTAINER}.ports[0].name: Invalid value: "a-very-long-port-name":'
        " must be no more than 15 characters",
        "change the value, or remove the field",
    ),
    "containers of one name": Bad(
        "",
        14,
        "spec.tfReplicaSpecs[Worker].template.spec.initContainers[0].name: Duplicate value:"
        ' "tensorflow"',
        "give each its own name",
        (
            "            image: img\n",
            "            image: img\n          initContainers: [{name: tensorflow, image: i}]\n",
        ),
    ),
    "list as an object": Bad(
        "ports: {containerPort: 1}",
        14,
        f"{CONTAINER}.ports: Invalid value: ",
        "write it as lines that begin with `- `, or remove the field",
    ),
    "number in quotes": Bad(
        "",
        11,
        "spec.tfReplicaSpecs[Worker].template.spec.activeDeadlineSeconds: Invalid value:"
        ' "60": must be a whole number, not a string',
        "write a whole number, without quotes",
        ("          containers:", '          activeDeadlineSeconds: "60"\n          containers:'),
    ),
    "label that no pod can have": Bad(
        "",
        10,
        'spec.tfReplicaSpecs[Worker].template.metadata.labels: Invalid value: "a b"',
        "change the value, or remove the field",
        (
            "        spec:\n          containers",
            "        metadata: {labels: {x: a b}}\n        spec:\n          containers",
        ),
    ),
    "name of 80 letters": Bad(
        "",
        4,
        f'metadata.name: Invalid value: "{"a" * 80}": should match: must be no more than 63',
        "shorten it to 54 characters or less, since pod and service names are derived from it,"
        f" for example {'a' * 54}",
        ("hello", "a" * 80),
    ),
    "alias of a field": Bad(
        "cmd: [a]",
        14,
        f"{CONTAINER}.cmd: Invalid value: unknown pod field, similar to command",
        "did you mean command?",
    ),
    "limits without resources": Bad(
        "limits: {cpu: 1}",
        14,
        f"{CONTAINER}.limits: Invalid value: unknown pod field, similar to resources.limits",
        "did you mean resources.limits?",
    ),
    "colon in a command": Bad(
        "command: [sh, -c, echo a: b]",
        14,
        f"{CONTAINER}.command[2]: Invalid value: ",
        "write it as text, in quotes if it contains a colon and a space",
    ),
    "map of variables": Bad(
        "env: {A: b}",
        14,
        f"{CONTAINER}.env: Invalid value: ",
        'write each variable as `- name: A` with `value: "1"` below the name',
    ),
    "variable as a text": Bad(
        "env:\n- A=b",
        15,
        f"{CONTAINER}.env[0]: Invalid value: ",
        'write each variable as `- name: A` with `value: "1"` below the name',
    ),
    "negative amount": Bad(
        "resources: {limits: {memory: -2Gi}}",
        14,
        f'{CONTAINER}.resources.limits[memory]: Invalid value: "-2Gi": must be greater than or',
        "change the value, or remove the field",
    ),
    "half a device": Bad(
        "resources:\n  limits:\n    nvidia.com/gpu: 0.5",
        16,
        f'{CONTAINER}.resources.limits[nvidia.com/gpu]: Invalid value: "500m": must be an integer',
        "change the value, or remove the field",
    ),
    "short name of a device": Bad(
        "resources: {limits: {gpu: 1}}",
        14,
        f'{CONTAINER}.resources.limits[gpu]: Invalid value: "gpu": must be a standard resource',
        "use the full name of the resource, such as nvidia.com/gpu for GPUs",
    ),
    "request of a device without a limit": Bad(
        "resources: {requests: {nvidia.com/gpu: 1}}",
        14,
        f"{CONTAINER}.resources.limits: Required value: Limit must be set for non overcommitable",
        "add the amount to limits, too, or to limits only",
    ),
    "containers as an object": Bad(
        "",
        11,
        "spec.tfReplicaSpecs[Worker].template.spec.containers: Invalid value: ",
        "write it as lines that begin with `- `, or remove the field",
        ("          - name", "            name"),
    ),
    "number as image": Bad(
        "",
        13,
        f"{CONTAINER}.image: Invalid value: 2.19: ",
        "write it as text, in quotes where it looks like something else",
        ("image: img", "image: 2.19"),
    ),
    "misspelt field around the others": Bad(
        "",
        6,
        "spec.tfReplicaSpec: Invalid value: unknown field",
        "did you mean spec.tfReplicaSpecs?",
        ("tfReplicaSpecs", "tfReplicaSpec"),
    ),
    "spec beside its template": Bad(
        "",
        10,
        "spec.tfReplicaSpecs[Worker].spec: Invalid value: unknown field",
        "did you mean spec.tfReplicaSpecs[…].template.spec?",
        ("        spec:", "      spec:"),
    ),
    "name outside of metadata": Bad(
        "",
        3,
        "name: Invalid value: unknown field",
        "did you mean metadata.name?",
        ("metadata:\n  name", "name"),
    ),
    "two objects without a separator": Bad(
        "",
        14,
        "apiVersion: Duplicate value: duplicate key",
        "separate the objects by lines of `---`",
        (HEAD, HEAD * 2),
    ),
    "tab": Bad(
        "\tcommand: [a]",
        14,
        "invalid YAML: the line is indented with a tab (column 13), and YAML allows only spaces",
        "replace the tabs at the beginning of lines with spaces",
    ),
}


@pytest.mark.parametrize("why", CORPUS)
def test_faults_of_a_file_are_reported_with_line_path_and_remedy(
    why: str, tmp_path: Path, command: Command
) -> None:
    bad = CORPUS[why]
    file = written(tmp_path, bad.text)
    done = command("validate", file)
    assert (done.code, done.err) == (1, "")
    assert f"{file}:{bad.line}: {bad.says}" in done.out
    assert f"remedy: {bad.remedy}\n" in done.out
    assert "valid\n" not in done.out


@pytest.mark.parametrize("why", [key for key in CORPUS if key != "tab"])
def test_bad_file_has_one_fault_for_one_mistake(why: str, tmp_path: Path, command: Command) -> None:
    done = command("validate", written(tmp_path, CORPUS[why].text))
    assert ": 1 fault\n" in done.out, done.out


@pytest.mark.parametrize("why", CORPUS)
@pytest.mark.parametrize(("verb", "code"), [("plan", 1), ("run", 2)])
def test_bad_file_is_neither_planned_nor_run(
    why: str, verb: str, code: int, tmp_path: Path, command: Command
) -> None:
    bad = CORPUS[why]
    done = command(verb, written(tmp_path, bad.text))
    assert (done.code, done.out) == (code, "")
    assert bad.says in done.err
    assert f"remedy: {bad.remedy}\n" in done.err


def test_job_without_replicas_is_warned_about_and_not_run(tmp_path: Path, command: Command) -> None:
    file = written(tmp_path, HEAD.replace("replicas: 1", "replicas: 0"))
    done = command("validate", file)
    assert done.code == 0
    assert "warning: every replica type has 0 replicas, so nothing will ever run;" in done.out
    ran = command("run", file)
    assert (ran.code, ran.out) == (2, "")
    assert "spec: Required value: every replica type has 0 replicas" in ran.err
    assert "remedy: set replicas of one type to 1 or more\n" in ran.err


def test_variable_without_a_value_is_warned_about(tmp_path: Path, command: Command) -> None:
    lines = ("env:", "- name: A", '- {name: B, value: ""}')
    file = written(tmp_path, HEAD + "".join(f"{' ' * 12}{each}\n" for each in lines))
    done = command("validate", file)
    assert done.code == 0
    place = f"{file}:15: warning: Worker: template.spec.containers[0].env[0]"
    assert f"{place} has no value, so A is empty; add value or valueFrom" in done.out
    assert done.out.count("warning") == 1


def test_amount_outside_of_requests_and_limits_is_a_warning(
    tmp_path: Path, command: Command
) -> None:
    file = written(tmp_path, f"{HEAD}            resources: {{cpu: 2}}\n")
    done = command("validate", file)
    text = f"{CONTAINER}.resources.cpu: unknown pod field; put it under requests or limits"
    assert f"{file}:14: warning: {text}" in done.out


def test_field_of_a_newer_kubernetes_is_a_warning_and_cannot_be_run_here(
    tmp_path: Path, command: Command
) -> None:
    text = f"{HEAD}            command: [a]\n            quantumState: up\n"
    file = written(tmp_path, text)
    done = command("validate", file)
    assert done.code == 0
    assert f"{file}:15: warning: {CONTAINER}.quantumState: unknown pod field;" in done.out
    assert command("plan", file).code == 0
    ran = command("run", file)
    assert ran.code == 2
    assert f"{CONTAINER}.quantumState: Invalid value: unknown pod field" in ran.err
