"""Names and paths of a cluster become those of this machine."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfjob.local.node.translate import Mount, Translation


class FakeDns:
    """Adds 20000 to every port; only `known` names exist."""

    known = frozenset({("ns", "tb"), ("other", "db"), ("ns", "ps-1")})

    def is_known(self, namespace: str, name: str) -> bool:
        return (namespace, name) in self.known

    def port(self, namespace: str, name: str, port: int) -> int:
        return port + 20000 + len(name) + (0 if namespace == "ns" else 100)


def translated(text: str, *mounts: Mount) -> str:
    return Translation(namespace="ns", mounts=mounts, dns=FakeDns()).text(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("job-ps-0.ns.svc:2222", "127.0.0.1:22230"),
        ("grpc://job-ps-0.ns.svc.cluster.local:2222/x", "grpc://127.0.0.1:22230/x"),
        ("job-ps-0.ns.svc.my.domain.:2222", "127.0.0.1:22230"),
        ("job-ps-0.ns.svc", "127.0.0.1"),
        ("pod-0.job.ns.svc:80", "127.0.0.1:20089"),
        ("a.ns.svc:1,bb.ns.svc:1", "127.0.0.1:20002,127.0.0.1:20003"),
        ("--ps=a.ns.svc:1", "--ps=127.0.0.1:20002"),
        ("http://tb:6006/", "http://127.0.0.1:26008/"),
        ("db.other:1", "127.0.0.1:20103"),
    ],
)
def test_cluster_addresses_become_loopback(text: str, expected: str) -> None:
    assert translated(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "unknown:6006",
        "tb",
        "mytb:6006",
        "tb:x",
        "tb.elsewhere:80",
        "user@tb:80",
        "example.com:443",
        "http://example.com/a.b",
        "10.0.0.1:80",
        "svc:80",
        "a.svc:80",
        "12:30:45",
        '{"a": 1}',
        "",
    ],
)
def test_other_text_is_unchanged(text: str) -> None:
    assert translated(text) == text


def test_both_ends_of_tf_config_agree() -> None:
    cluster = {"worker": ["j-worker-0.ns.svc:2222", "j-worker-10.ns.svc:2222"]}
    config = json.loads(translated(json.dumps({"cluster": cluster, "task": {"index": 1}})))
    assert config["cluster"]["worker"] == ["127.0.0.1:22232", "127.0.0.1:22233"]
    assert config["task"] == {"index": 1}


DATA = Mount("/data", "/home/me/vol")
DEEP = Mount("/data/deep/", "/home/me/deep")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/data", "/home/me/vol"),
        ("/data/x.csv", "/home/me/vol/x.csv"),
        ("--dir=/data/x", "--dir=/home/me/vol/x"),
        ("/data/deep/y", "/home/me/deep/y"),
        ("/data/deeper", "/home/me/vol/deeper"),
        ("/database", "/database"),
        ("/data.old", "/data.old"),
        ("/my/data/x", "/my/data/x"),
        ("http://host/data", "http://host/data"),
        ("file:///data/x", "file:///home/me/vol/x"),
        ("/lib:/data:/bin", "/lib:/home/me/vol:/bin"),
        ("cat '/data/a' /data/b", "cat '/home/me/vol/a' /home/me/vol/b"),
    ],
)
def test_paths_below_a_mount_move_to_its_folder(text: str, expected: str) -> None:
    assert translated(text, DATA, DEEP) == expected


def test_a_folder_that_itself_looks_like_a_mount_is_not_translated_twice() -> None:
    assert translated("/a/x", Mount("/a", "/b"), Mount("/b", "/c")) == "/b/x"


def test_a_mount_at_the_root_translates_nothing() -> None:
    assert translated("/etc/passwd", Mount("/", "/home/me")) == "/etc/passwd"


def test_a_working_directory_is_translated_as_a_whole() -> None:
    translation = Translation(namespace="ns", mounts=(DATA, DEEP), dns=FakeDns())
    assert translation.path("/data/deep") == "/home/me/deep"
    assert translation.path("/elsewhere") == "/elsewhere"


@given(st.text())
def test_translating_any_text_again_changes_nothing(text: str) -> None:
    once = translated(text, DATA, DEEP)
    assert translated(once, DATA, DEEP) == once


@given(st.text(alphabet=st.characters(exclude_characters=":/."), max_size=50))
def test_a_text_without_hosts_and_paths_is_unchanged(text: str) -> None:
    assert translated(text, DATA, DEEP) == text


def spoken(*words: str) -> tuple[str, ...]:
    own_ports = {6006: 20001}
    book = FakeDns()
    return Translation(namespace="ns", mounts=(), dns=book, own_ports=own_ports).words(words)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("0.0.0.0", "127.0.0.1"),  # noqa: S104 - that is the point
        ("--host=0.0.0.0", "--host=127.0.0.1"),
        ("0.0.0.0:80", "127.0.0.1:80"),
        ("--bind=0.0.0.0:6006", "--bind=127.0.0.1:20001"),
        ("http://0.0.0.0/x", "http://127.0.0.1/x"),
        ("serve --host 0.0.0.0 --port 6006", "serve --host 127.0.0.1 --port 20001"),
        ("::", "127.0.0.1"),
        ("--host=::", "--host=127.0.0.1"),
        ("[::]:6006", "127.0.0.1:20001"),
        ("--bind=[::]:80", "--bind=127.0.0.1:80"),
        ("print(x[::-1], a[::])", "print(x[::-1], a[::])"),
        ("std::x", "std::x"),
        ("10.0.0.0.0", "10.0.0.0.0"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("tool==0.0.0.0b1", "tool==0.0.0.0b1"),
    ],
)
def test_addresses_of_all_interfaces_in_arguments_become_loopback(word: str, expected: str) -> None:
    assert spoken(word) == (expected,)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--port", "6006"), ("--port", "20001")),
        (("--port=6006",), ("--port=20001",)),
        (("--port", "7"), ("--port", "7")),
        (("--port=7",), ("--port=7",)),
        (("--steps", "6006"), ("--steps", "6006")),
        (("--port=60061",), ("--port=60061",)),
        (("--export=6006",), ("--export=6006",)),
        (("--port", "--port", "6006"), ("--port", "--port", "20001")),
        (("6006",), ("6006",)),
    ],
)
def test_a_port_option_gets_the_assigned_port(
    words: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert spoken(*words) == expected


def test_variables_keep_the_addresses_of_all_interfaces() -> None:
    translation = Translation(namespace="ns", mounts=(), dns=FakeDns(), own_ports={1: 2})
    variables = {"HOST": "0.0.0.0", "FLAGS": "--port 1"}  # noqa: S104 - that is the point
    assert translation.mapping(variables) == variables


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "ps|ps-0:22;ps-1:22,worker|w-0:22",
            "ps|127.0.0.1:20026;127.0.0.1:20026,worker|127.0.0.1:20025",
        ),
        ("ps-1:22,other:22,12:30", "127.0.0.1:20026,other:22,12:30"),
        ("ps-0:22,w-0:22", "ps-0:22,w-0:22"),
        ("tb:22,ps-0:22", "127.0.0.1:20024,ps-0:22"),
    ],
)
def test_the_numbered_peers_of_a_known_service_may_come_later(text: str, expected: str) -> None:
    assert translated(text) == expected
