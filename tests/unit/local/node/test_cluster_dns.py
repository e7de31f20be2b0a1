"""Host names of the cluster."""

from collections.abc import Sequence
from typing import Any

import pytest

from tfjob.local.node.cluster_dns import ClusterDns, container_ports, target_port


def pod(name: str, *, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": "ns", "name": name, "labels": labels or {}}, "spec": spec}


def service(name: str, *, selector: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    spec = {"clusterIP": "None", **spec, "selector": selector}
    return {"metadata": {"namespace": "ns", "name": name}, "spec": spec}


def claim(namespace: str, names: Sequence[str], port: int) -> int:
    """A port that depends on all arguments, so that a test can distinguish calls."""
    asked.append((namespace, tuple(names), port))
    return 7


asked: list[tuple[str, tuple[str, ...], int]] = []


def meaning(dns: ClusterDns, name: str, port: int) -> tuple[str, tuple[str, ...], int]:
    dns.port("ns", name, port)
    return asked[-1]


W0 = pod("w0", labels={"job": "j", "index": "0"})
TB = pod(
    "tb-abc",
    labels={"app": "tb"},
    hostname="board",
    subdomain="tb",
    containers=[{"ports": [{"name": "web", "containerPort": 6006}]}],
)
SERVICES = [
    service("w0", selector={"job": "j", "index": "0"}),
    service("w1", selector={"job": "j", "index": "1"}),
    service("tb", selector={"app": "tb"}, clusterIP="", ports=[{"port": 80, "targetPort": "web"}]),
]
BOOK = ClusterDns(services=SERVICES, pods=[W0, TB], claim=claim)


def test_a_service_with_the_name_of_a_pod_leads_to_that_pod() -> None:
    assert meaning(BOOK, "w0", 2222) == ("ns", ("w0",), 2222)


def test_a_peer_that_does_not_exist_yet_is_looked_up_by_its_name() -> None:
    assert meaning(BOOK, "w1", 2222) == ("ns", ("w1",), 2222)
    assert meaning(BOOK, "w7", 2222) == ("ns", ("w7",), 2222)


def test_a_service_leads_to_the_pod_it_selects_and_its_target_port() -> None:
    assert meaning(BOOK, "tb", 80) == ("ns", ("tb-abc", "board.tb", "tb"), 6006)


def test_a_pod_is_found_by_hostname_and_subdomain() -> None:
    assert meaning(BOOK, "board.tb", 6006) == ("ns", ("tb-abc", "board.tb", "tb"), 6006)


def test_only_services_have_names_because_pods_have_none_in_dns() -> None:
    assert BOOK.is_known("ns", "tb")
    assert not BOOK.is_known("ns", "tb-abc")
    assert not BOOK.is_known("ns", "nothing")
    assert not BOOK.is_known("other", "tb")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"clusterIP": "None", "ports": [{"port": 80, "targetPort": 8080}]}, 80),
        ({"ports": [{"port": 80, "targetPort": 8080}]}, 8080),
        ({"ports": [{"port": 80}]}, 80),
        ({"ports": [{"port": 80, "targetPort": "web"}]}, 6006),
        ({"ports": [{"port": 80, "targetPort": "none"}]}, 80),
        ({"ports": [{"port": 80, "targetPort": "8081"}]}, 8081),
        ({"ports": [{"port": 443, "targetPort": 1}]}, 80),
    ],
)
def test_target_ports_are_followed(spec: dict[str, Any], expected: int) -> None:
    assert target_port({"spec": spec}, TB, 80) == expected


def test_declared_ports_are_listed() -> None:
    assert container_ports(TB) == [6006]
    assert container_ports(W0) == []


def test_a_running_pod_is_preferred_to_one_that_is_terminating_or_has_ended() -> None:
    labels = {"app": "x"}
    over, going, there = (pod(name, labels=labels) for name in ("a", "b", "c"))
    over["status"] = {"phase": "Failed"}
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    services = [service("x", selector=labels)]
    for pods, first in (([over, going, there], "c"), ([over, going], "b"), ([over], "a")):
        dns = ClusterDns(services=services, pods=pods, claim=claim)
        assert meaning(dns, "x", 1)[1] == (first, "x")


def test_the_address_in_the_annotation_of_a_pod_is_used() -> None:
    notes = {"tfjob.dev/url": "http://127.0.0.1:6007/"}
    board = {**TB, "metadata": {**TB["metadata"], "annotations": notes}}
    dns = ClusterDns(services=SERVICES, pods=[board], claim=claim)
    assert dns.port("ns", "tb", 80) == 6007
    assert dns.port("ns", "tb", 81) == 7


def test_ports_of_a_pod_are_those_it_declares_and_those_that_services_target() -> None:
    more = service("more", selector={"app": "tb"}, clusterIP="", ports=[{"port": 1}])
    dns = ClusterDns(services=[*SERVICES, more], pods=[TB], claim=claim)
    assert dns.own_ports(TB) == [6006, 1]
