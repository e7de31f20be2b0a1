"""The command lines of a control plane's processes.

Every process listens on loopback or not at all. The API server creates its own certificate and key
in the folder's pki, and the same key signs service account tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.controlplane.ports import LOOPBACK

Command = list[str | Path]

# Without kubelets nobody renews node leases: these two would declare every fake node lost.
_NODE_WATCHERS = ("node-lifecycle-controller", "taint-eviction-controller")
_CLIENT_LIMITS = ("--kube-api-qps=500", "--kube-api-burst=1000")


@dataclass(frozen=True, kw_only=True)
class Site:
    """Where one control plane lives: binaries, folder, ports, and feature gates."""

    binaries: Mapping[str, Path]
    folder: Path
    etcd_port: int
    peer_port: int
    secure_port: int
    address: str = LOOPBACK
    """Where the API server listens; everything else stays on loopback."""
    feature_gates: Sequence[str] = ()
    etcd_quota: int = 8 << 30
    """Bytes that etcd may store before it refuses writes."""

    @property
    def etcd_clients(self) -> str:
        """The address at which etcd serves its clients."""
        return f"http://{LOOPBACK}:{self.etcd_port}"

    @property
    def server(self) -> str:
        """The API server's address."""
        return f"https://{self.address}:{self.secure_port}"

    @property
    def certificate(self) -> Path:
        """The certificate chain with which clients verify the API server."""
        return self.folder / "pki" / "apiserver.crt"

    @property
    def key(self) -> Path:
        """The API server's private key, which also signs tokens."""
        return self.folder / "pki" / "apiserver.key"

    @property
    def tokens(self) -> Path:
        """The file of static tokens."""
        return self.folder / "tokens.csv"

    @property
    def data(self) -> Path:
        """The data of etcd; large, and not needed afterwards."""
        return self.folder / "etcd-data"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.folder / "kubeconfig"


def etcd(site: Site) -> Command:
    """A throw-away etcd, without fsync."""
    clients = site.etcd_clients
    peers = f"http://{LOOPBACK}:{site.peer_port}"
    return [
        site.binaries["etcd"],
        f"--data-dir={site.data}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        "--unsafe-no-fsync",
        f"--quota-backend-bytes={site.etcd_quota}",
        "--log-level=warn",
    ]


def apiserver(site: Site, flags: Sequence[str]) -> Command:
    """An API server with RBAC and static tokens."""
    return [
        site.binaries["kube-apiserver"],
        f"--etcd-servers={site.etcd_clients}",
        f"--secure-port={site.secure_port}",
        f"--bind-address={site.address}",
        f"--advertise-address={site.address}",
        "--endpoint-reconciler-type=none",
        f"--cert-dir={site.certificate.parent}",
        f"--token-auth-file={site.tokens}",
        "--authorization-mode=Node,RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={site.key}",
        f"--service-account-signing-key-file={site.key}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--allow-privileged",
        *_gates(site),
        *flags,
    ]


def controller_manager(site: Site, *, has_kubelets: bool) -> Command:
    """Every controller; those that miss kubelets only where something plays them all the time."""
    left_out = () if has_kubelets else _NODE_WATCHERS
    return [
        site.binaries["kube-controller-manager"],
        *_client(site),
        *_CLIENT_LIMITS,
        f"--controllers={','.join(('*', *(f'-{name}' for name in left_out)))}",
        f"--root-ca-file={site.certificate}",
        f"--service-account-private-key-file={site.key}",
        *_gates(site),
    ]


def scheduler(site: Site) -> Command:
    """The default scheduler, without client-side rate limits."""
    return [site.binaries["kube-scheduler"], *_client(site), *_CLIENT_LIMITS, *_gates(site)]


def kwok(site: Site, stages: Path) -> Command:
    """kwok as the kubelet of every node, without a server of its own."""
    return [
        site.binaries["kwok"],
        f"--kubeconfig={site.kubeconfig}",
        f"--config={stages}",
        "--manage-all-nodes=true",
        "--node-lease-duration-seconds=40",
        "--node-port=0",
    ]


def _client(site: Site) -> tuple[str, ...]:
    return (f"--kubeconfig={site.kubeconfig}", "--leader-elect=false", "--secure-port=0")


def _gates(site: Site) -> tuple[str, ...]:
    gates = ",".join(site.feature_gates)
    return (f"--feature-gates={gates}",) if gates else ()
