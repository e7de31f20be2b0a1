import pytest

from tests.support.local_apiserver.serving import ThreadedApiServer
from tests.support.tfjobs import tfjob
from tests.unit.cli.conftest import Command


@pytest.fixture(scope="module")
def cluster(cluster: ThreadedApiServer) -> ThreadedApiServer:
    cluster.put_job(tfjob("W3", name="a"), ("Created", "made"))
    cluster.put_job(tfjob("W1", name="b"))
    return cluster


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["-o", "jsonpath={.items[*].metadata.name}"], "a b\n"),
        (["a", "-o", "jsonpath={.metadata.name}: {.status.conditions[0].type}"], "a: Created\n"),
        (["a", "-o", r'jsonpath={.kind}{"\n"}{.spec.none}|'], "TFJob\n|\n"),
        (["a", "-o", "jsonpath={.spec.tfReplicaSpecs.Worker.replicas}"], "3\n"),
        (
            ["-o", "name", "--sort-by", ".metadata.name"],
            "tfjobs.kubeflow.org/a\ntfjobs.kubeflow.org/b\n",
        ),
        (
            ["-o", "name", "--sort-by={.spec.tfReplicaSpecs.Worker.replicas}"],
            "tfjobs.kubeflow.org/b\ntfjobs.kubeflow.org/a\n",
        ),
        (
            ["-o", "name", "--sort-by=.status.conditions[0].type"],
            "tfjobs.kubeflow.org/b\ntfjobs.kubeflow.org/a\n",
        ),
    ],
)
def test_templates_and_sorting_follow_kubectl(
    cluster: ThreadedApiServer, command: Command, words: list[str], printed: str
) -> None:
    done = command("get", *words, *cluster.flags)
    assert (done.code, done.out) == (0, printed)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["-o", "xml"], "xml: is not a format; use one of table, wide"),
        (["-o", "jsonpath={.a"], "a brace is not closed"),
        (["-o", "jsonpath={.a[}"], "cannot read"),
        (["--sort-by", ".a["], "cannot read"),
        (["--sort-by", ".spec.none"], "--sort-by .spec.none: no job has a value there"),
    ],
)
def test_an_invalid_format_or_sort_path_is_reported(
    cluster: ThreadedApiServer, command: Command, words: list[str], error: str
) -> None:
    done = command("get", *words, *cluster.flags)
    assert done.code in {1, 2}
    assert error in done.err


def test_control_characters_do_not_reach_the_terminal(
    cluster: ThreadedApiServer, command: Command
) -> None:
    cluster.put_job(
        {**tfjob("W1", name="c"), "metadata": {"name": "c", "annotations": {"x": "\x1b[2J"}}}
    )
    done = command("get", "c", "-o", "jsonpath={.metadata.annotations.x}", *cluster.flags)
    assert done.out == "␛[2J\n"
