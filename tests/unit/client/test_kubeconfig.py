"""Reading kubeconfig files."""

from pathlib import Path

import pytest

from tfjob.client.credentials import ConfigError
from tfjob.client.kubeconfig import read

TWO_CONTEXTS = """
apiVersion: v1
kind: Config
current-context: one
preferences: {}
clusters:
- {name: c1, cluster: {server: "https://one", extensions: [{name: x, extension: {}}]}}
- {name: c2, cluster: {server: "http://two", tls-server-name: api.test}}
users:
- {name: u1, user: {username: me, exec: null}}
contexts:
- {name: one, context: {cluster: c1, user: u1, namespace: train}}
- {name: two, context: {cluster: c2}}
- {name: lost, context: {cluster: nowhere, user: u1}}
- {name: stranger, context: {cluster: c1, user: nobody}}
"""

WITHOUT_SERVER = """
current-context: a
contexts: [{name: a, context: {cluster: b}}]
clusters: [{name: b}]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "config"
    path.write_text(TWO_CONTEXTS)
    return path


def test_the_current_context_is_the_default(path: Path) -> None:
    selected = read(path)
    assert selected.cluster.server == "https://one"
    assert selected.user.username == "me"
    assert selected.namespace == "train"


def test_another_context_can_be_named_and_needs_no_user(path: Path) -> None:
    selected = read(path, context="two")
    assert selected.cluster.tls_server_name == "api.test"
    assert selected.user.username == ""
    assert selected.namespace == "default"


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ("three", "context must be one of: lost, one, stranger, two; got 'three'"),
        ("lost", "cluster must be one of: c1, c2; got 'nowhere'"),
        ("stranger", "user must be one of: u1; got 'nobody'"),
    ],
)
def test_what_is_missing_is_named_with_what_there_is(
    path: Path, context: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        read(path, context=context)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "got none"),
        ("users: null\ncontexts: null\n", "context must be one of: none; got none"),
        ("contexts: [{name: 7}]", "not a kubeconfig: Expected `str`"),
        ("- a list", "not a kubeconfig"),
        ("{", "not a kubeconfig"),
        (WITHOUT_SERVER, "cluster 'b' has no server URL"),
    ],
)
def test_a_broken_file_is_named_and_explained(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "broken"
    path.write_text(content)
    with pytest.raises(ConfigError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read(tmp_path / "nothing")


def test_relative_paths_count_from_the_folder_of_the_file(path: Path) -> None:
    assert read(path).file("pki/ca.crt") == path.parent / "pki" / "ca.crt"
    assert read(path).file("/etc/ca.crt") == Path("/etc/ca.crt")
