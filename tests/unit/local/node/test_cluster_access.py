"""The variables with which a container finds the API server."""

from tfjob.local.node.cluster_access import ClusterAccess, service_variables


def test_seed_002_line_117_variables_have_the_published_names() -> None:
    found = service_variables(ClusterAccess(url="https://127.0.0.1:6443", token="t"))  # noqa: S106 - made up
    assert found == {
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": "6443",
        "KUBERNETES_SERVICE_PORT_HTTPS": "6443",
        "KUBERNETES_PORT": "tcp://127.0.0.1:6443",
        "KUBERNETES_PORT_443_TCP": "tcp://127.0.0.1:6443",
        "KUBERNETES_PORT_443_TCP_PROTO": "tcp",
        "KUBERNETES_PORT_443_TCP_PORT": "6443",
        "KUBERNETES_PORT_443_TCP_ADDR": "127.0.0.1",
    }
