from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.support.controlplane.endpoint import ApiError
from tests.support.local_apiserver.serving import ThreadedApiServer, api_server_in_thread
from tests.support.tfjobs import tfjob
from tests.unit.cli.conftest import Command

Json = dict[str, Any]
_METRICS = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods"


class Metrics:
    """Every pod but the second uses the same."""

    async def measure(self, pods: Sequence[Json]) -> list[Json]:
        usage = {"cpu": "1500m", "memory": "2Gi"}
        containers = [{"name": "tensorflow", "usage": usage}, {"name": "proxy", "usage": usage}]
        return [
            {"uid": pod["metadata"]["uid"], "window": "1s", "containers": containers}
            for pod in pods
            if not pod["metadata"]["name"].endswith("-1")
        ]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadedApiServer]:
    folder = tmp_path_factory.mktemp("cluster") / "data"
    with api_server_in_thread(folder, metrics=Metrics()) as cluster:
        job = cluster.put_job(tfjob("W2", name="busy"))
        cluster.put_job(tfjob("W2", name="none"))
        for index in range(2):
            cluster.put_pod(job, "worker", index=index)
        yield cluster


def test_each_replica_shows_the_sum_of_its_containers(
    cluster: ThreadedApiServer, command: Command
) -> None:
    done = command("top", "busy", *cluster.flags)
    assert done.code == 0
    assert [line.split() for line in done.out.splitlines()] == [
        ["REPLICA", "CPU", "MEMORY", "LIMIT", "GPUS", "PHASE"],
        ["worker-0", "3000m", "4096Mi", "-", "0", "Running"],
        ["worker-1", "-", "-", "-", "0", "Running"],
    ]


def test_a_job_without_pods_points_to_its_explanation(
    cluster: ThreadedApiServer, command: Command
) -> None:
    done = command("top", "none", *cluster.flags)
    assert done.code == 1
    assert "has no pods; `tfjob explain none` says why" in done.err


def test_the_metrics_api_is_read_only_and_discovered(cluster: ThreadedApiServer) -> None:
    served = cluster.endpoint.request("GET", "/apis/metrics.k8s.io/v1beta1")
    assert served["resources"][0]["verbs"] == ["get", "list"]
    one = cluster.endpoint.request("GET", f"{_METRICS}/busy-worker-0")
    assert one["kind"] == "PodMetrics"
    for method, path, code in (
        ("GET", f"{_METRICS}/busy-worker-1", 404),
        ("POST", _METRICS, 405),
        ("DELETE", f"{_METRICS}/busy-worker-0", 405),
        ("GET", f"{_METRICS}?watch=true", 405),
    ):
        with pytest.raises(ApiError) as refused:
            cluster.endpoint.request(method, path)
        assert refused.value.status == code


def test_a_cluster_without_metrics_is_reported(
    tmp_path_factory: pytest.TempPathFactory, command: Command
) -> None:
    with api_server_in_thread(tmp_path_factory.mktemp("other") / "data") as cluster:
        cluster.put_job(tfjob("W1", name="busy"))
        done = command("top", "busy", *cluster.flags)
    assert done.code == 1
    assert "the cluster does not measure its pods" in done.err
    assert "metrics-server" in done.err
