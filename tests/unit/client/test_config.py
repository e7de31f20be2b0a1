"""Loading the client configuration."""

import base64
import json
import os
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support import tls_files
from tests.support.fake_api import FakeApi, whole
from tfjob.client.config import Config, from_kubeconfig, in_cluster, load, proxy_for
from tfjob.client.credentials import ConfigError
from tfjob.client.errors import Unreachable
from tfjob.client.http import Api, PartialObjectMetadata
from tfjob.local.apiserver.credentials import load_certificate


def kubeconfig(
    path: Path,
    *,
    server: str = "https://127.0.0.1:1",
    cluster: Mapping[str, object] | None = None,
    user: Mapping[str, object] | None = None,
) -> Path:
    content = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
    }
    path.write_text(json.dumps(content))
    return path


def inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def service_account(folder: Path) -> Path:
    folder.mkdir()
    (folder / "token").write_text("mounted")
    (folder / "namespace").write_text("kubeflow\n")
    (folder / "ca.crt").write_bytes(tls_files.AUTHORITY.read_bytes())
    return folder


POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


async def test_a_pod_finds_its_service_account(tmp_path: Path) -> None:
    config = in_cluster(environment=POD, folder=service_account(tmp_path / "sa"))
    assert config.server == "https://10.0.0.1:443"
    assert config.namespace == "kubeflow"
    assert await config.credentials.header() == "Bearer mounted"


async def test_an_authority_that_rotates_is_trusted_without_a_restart(tmp_path: Path) -> None:
    folder = service_account(tmp_path / "sa")
    (tmp_path / "other").mkdir()
    other, _ = load_certificate(tmp_path / "other", now=datetime.now(UTC))
    (folder / "ca.crt").write_bytes(other.read_bytes())
    os.utime(folder / "ca.crt", ns=(1, 1))
    async with FakeApi([whole({})], tls=tls_files.server_context()) as fake:
        parts = urlsplit(fake.url)
        env = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(parts.port)}
        config = in_cluster(environment=env, folder=folder)
        async with Api(config) as api:
            with pytest.raises(Unreachable):
                await api.get("/version", decode=PartialObjectMetadata)
            (folder / "ca.crt").write_text("half a file")
            config.credentials.renew(None)
            (folder / "ca.crt").write_bytes(tls_files.AUTHORITY.read_bytes())
            config.credentials.renew(None)
            assert (
                await api.get("/version", decode=PartialObjectMetadata) == PartialObjectMetadata()
            )


def test_an_ipv6_host_is_bracketed(tmp_path: Path) -> None:
    env = {**POD, "KUBERNETES_SERVICE_HOST": "fd00::1"}
    config = in_cluster(environment=env, folder=service_account(tmp_path / "sa"))
    assert config.server == "https://[fd00::1]:443"


def test_outside_a_pod_the_missing_variables_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="KUBERNETES_SERVICE_HOST"):
        in_cluster(environment={}, folder=tmp_path)


def test_places_are_tried_in_order(tmp_path: Path) -> None:
    explicit = kubeconfig(tmp_path / "explicit", server="http://explicit")
    listed = kubeconfig(tmp_path / "listed", server="http://listed")
    (tmp_path / ".kube").mkdir()
    home = kubeconfig(tmp_path / ".kube" / "config", server="http://home")
    mounted = service_account(tmp_path / "sa")
    env = {"KUBECONFIG": f"{tmp_path}/missing:{listed}:{home}", "HOME": str(tmp_path)}

    def found(environment: Mapping[str, str], path: Path | None = None) -> str:
        return load(path, environment=environment, service_account=mounted).server

    assert found({**env, **POD}, explicit) == "http://explicit"
    assert found({**env, **POD}) == "http://listed"
    assert found({"HOME": str(tmp_path), **POD}) == "https://10.0.0.1:443"
    assert found({"HOME": str(tmp_path)}) == "http://home"


def test_a_named_context_is_never_answered_by_a_service_account(tmp_path: Path) -> None:
    mounted = service_account(tmp_path / "sa")
    with pytest.raises(ConfigError, match="no cluster is configured"):
        load(context="prod", environment={"HOME": "/nowhere", **POD}, service_account=mounted)


def test_authorities_without_key_identifiers_are_accepted(tmp_path: Path) -> None:
    config = in_cluster(environment=POD, folder=service_account(tmp_path / "sa"))
    assert config.tls is not None
    assert not config.tls.verify_flags & ssl.VERIFY_X509_STRICT
    assert config.tls.verify_mode == ssl.CERT_REQUIRED
    assert config.tls.check_hostname


def test_if_no_configuration_is_found_the_error_lists_the_places(tmp_path: Path) -> None:
    env = {"KUBECONFIG": "/no/such/file", "HOME": str(tmp_path)}
    with pytest.raises(ConfigError) as caught:
        load(environment=env, service_account=tmp_path / "sa")
    for place in ("/no/such/file", str(tmp_path / "sa"), str(tmp_path / ".kube" / "config")):
        assert place in str(caught.value)


@pytest.mark.parametrize(
    ("user", "header"),
    [
        ({"token": "t"}, "Bearer t"),
        ({"username": "me", "password": "pw"}, "Basic bWU6cHc="),
        ({"tokenFile": "token"}, "Bearer from-file"),
        ({"tokenFile": "token", "token": "t"}, "Bearer from-file"),
        ({}, None),
    ],
)
async def test_credentials_of_a_kubeconfig(
    tmp_path: Path, user: dict[str, object], header: str | None
) -> None:
    (tmp_path / "token").write_text("from-file")
    config = from_kubeconfig(kubeconfig(tmp_path / "config", user=user))
    assert await config.credentials.header() == header


def test_an_auth_provider_is_rejected_with_a_way_out(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", user={"auth-provider": {"name": "gcp"}})
    with pytest.raises(ConfigError, match="exec plugin instead"):
        from_kubeconfig(path)


def test_impersonation_is_not_forgotten(tmp_path: Path) -> None:
    user = {"as": "jane", "as-uid": "7", "as-groups": ["a", "b"]}
    assert from_kubeconfig(kubeconfig(tmp_path / "config", user=user)).headers == (
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
    )


@pytest.mark.parametrize(
    ("cluster", "user", "message"),
    [
        ({"certificate-authority-data": "!"}, {}, "must be base64"),
        ({"certificate-authority-data": "AAAA"}, {}, "PEM certificates are needed"),
        ({"certificate-authority": "missing"}, {}, "PEM certificates are needed"),
        ({}, {"client-certificate": "a", "client-key": "b"}, "a matching PEM pair"),
        ({}, {"client-certificate-data": "AAAA", "client-key-data": "AAAA"}, "matching PEM pair"),
    ],
)
def test_invalid_certificates_are_reported(
    tmp_path: Path, cluster: dict[str, object], user: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        from_kubeconfig(kubeconfig(tmp_path / "config", cluster=cluster, user=user))


def test_a_server_that_is_no_url_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must be an http:// or https:// URL"):
        from_kubeconfig(kubeconfig(tmp_path / "config", server="example:6443"))


async def answered(config: Config) -> str:
    async with Api(config) as api:
        stored = await api.get("/api/v1/nodes/n", decode=PartialObjectMetadata)
    return stored.metadata.name


@pytest.mark.parametrize("form", ["files", "inline"])
async def test_client_certificates_open_a_server_that_asks_for_them(
    tmp_path: Path, form: str
) -> None:
    authority, client, key = tls_files.AUTHORITY, tls_files.CLIENT, tls_files.CLIENT_KEY
    if form == "files":
        cluster = {"certificate-authority": str(authority)}
        user = {"client-certificate": str(client), "client-key": str(key)}
    else:
        cluster = {"certificate-authority-data": inline(authority)}
        user = {"client-certificate-data": inline(client), "client-key-data": inline(key)}
    tls = tls_files.server_context(asks_for_client=True)
    async with FakeApi([whole({"metadata": {"name": "n"}})], tls=tls) as fake:
        path = kubeconfig(tmp_path / "c", server=fake.url, cluster=cluster, user=user)
        assert await answered(from_kubeconfig(path)) == "n"


@pytest.mark.parametrize(
    ("cluster", "is_trusted"),
    [
        ({}, False),
        ({"insecure-skip-tls-verify": True}, True),
        ({"certificate-authority": str(tls_files.AUTHORITY)}, True),
        ({"certificate-authority": str(tls_files.AUTHORITY), "tls-server-name": "api.test"}, True),
        ({"certificate-authority": str(tls_files.AUTHORITY), "tls-server-name": "other"}, False),
    ],
)
async def test_a_server_is_trusted_only_as_the_file_says(
    tmp_path: Path, cluster: dict[str, object], is_trusted: bool
) -> None:
    async with FakeApi(lambda _: whole({}), tls=tls_files.server_context()) as fake:
        config = from_kubeconfig(kubeconfig(tmp_path / "c", server=fake.url, cluster=cluster))
        if is_trusted:
            assert await answered(config) == ""
        else:
            with pytest.raises(Unreachable, match="certificate"):
                await answered(config)


def test_the_environments_proxy_is_for_other_machines_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "inside.test")
    assert proxy_for("https://outside.test:6443") == "http://proxy:3128"
    assert proxy_for("https://inside.test:6443") is None
    assert proxy_for("https://127.0.0.1:6443") is None
    assert proxy_for("https://[::1]:6443") is None
