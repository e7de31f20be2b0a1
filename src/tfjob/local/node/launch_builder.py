"""Builds the launch of a container: the process that its spec means on this machine.

ConfigMaps, Secrets and claims are fetched for each start, as a kubelet does. If something is
missing, the start is deferred. What the API shows stays untranslated.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tfjob.local.data_folder import make_folder, open_file
from tfjob.local.node import surroundings
from tfjob.local.node.api import ApiPort
from tfjob.local.node.checkpoint import PodRecord, container_folder, pod_folder, safe_name
from tfjob.local.node.cluster_access import ROOT_CA, service_variables
from tfjob.local.node.cluster_dns import ClusterDns, container_ports
from tfjob.local.node.devices import cuda_variables
from tfjob.local.node.environment import (
    Sources,
    command_line,
    containers_of,
    environment_of,
    references,
)
from tfjob.local.node.machine import NodeSettings, with_first_folder
from tfjob.local.node.mount_namespace import can_be_mounted
from tfjob.local.node.port_allocator import NoPortError, PortAllocator
from tfjob.local.node.process import Launch
from tfjob.local.node.readiness import is_server
from tfjob.local.node.resource_fit import gpus_of
from tfjob.local.node.surroundings import Surroundings
from tfjob.local.node.translate import Mount, Translation
from tfjob.local.node.volume_files import (
    FetchedObjects,
    VolumeError,
    config_map_values,
    secret_values,
    texts,
)
from tfjob.local.node.volumes import mounts_of, prepare, views_of, volume_references

Json = Mapping[str, Any]
DEFAULT_MESSAGE_PATH = "/dev/termination-log"


class LaunchDeferredError(Exception):
    """The container cannot be started now; has a reason and a message."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


class LaunchBuilder:
    """Builds the launches of the containers of one node."""

    def __init__(
        self,
        *,
        api: ApiPort,
        settings: NodeSettings,
        ports: PortAllocator,
        pods: Callable[[], Sequence[Json]],
    ) -> None:
        self._api, self._settings, self._ports, self._pods = api, settings, ports, pods

    async def launch_for(self, pod: Json, container: Json, record: PodRecord) -> Launch:
        """The process for one start; LaunchDeferredError if something is missing."""
        try:
            found, has_claim = await self._fetch(pod)
            is_fresh = all(not one.pid and one.last is None for one in record.all_containers)
            dns = await self._dns(pod)
            renewed = dns.own_ports(pod) if is_fresh else _movable_ports(pod, container)
            own_ports = self._reserve_ports(pod, dns, renewed=renewed)
            places = await asyncio.to_thread(self._prepare, pod, found, has_claim)
            variables = self._variables(pod, container, found)
            mounts = mounts_of(container, places, variables)
            view = self._folder(record) / "views" / safe_name(str(container["name"]))
            translation = Translation(
                namespace=record.namespace,
                mounts=(*mounts, *views_of(mounts, folder=view)),
                dns=dns,
                own_ports=own_ports,
            )
            launch = self._launch(
                pod, container, record, variables=variables, translation=translation
            )
            return _with_real_mounts(launch, mounts) if self._settings.has_real_mounts else launch
        except VolumeError as fault:
            raise LaunchDeferredError("CreateContainerConfigError", str(fault)) from fault
        except NoPortError as fault:
            present = {_key(one) for one in [pod, *self._pods()]}
            self._ports.keep(lambda namespace, name: (namespace, name) in present)
            raise LaunchDeferredError("PortUnavailable", str(fault)) from fault
        except OSError as fault:
            where = f" {fault.filename}" if fault.filename else ""
            message = f"this machine refused{where}: {fault.strerror}; trying again"
            raise LaunchDeferredError("CreateContainerError", message) from fault

    def _folder(self, record: PodRecord) -> Path:
        return pod_folder(self._settings.pods_folder, record.uid)

    async def _fetch(self, pod: Json) -> tuple[FetchedObjects, dict[str, bool]]:
        namespace = str(pod["metadata"]["namespace"])
        in_volumes = volume_references(pod)
        maps, secrets = references(pod)
        found = FetchedObjects(
            config_maps={
                name: await self._config_map(namespace, name)
                for name in sorted(maps | in_volumes.config_maps)
            },
            secrets={
                name: await self._api.secret(namespace, name)
                for name in sorted(secrets | in_volumes.secrets)
            },
            allocatable=self._settings.allocatable,
            token=self._settings.access.token if self._settings.access else "",
        )
        claims = {name: await self._bound(namespace, name) for name in sorted(in_volumes.claims)}
        return found, claims

    async def _config_map(self, namespace: str, name: str) -> Json | None:
        """The ConfigMap; that of the API server's certificate exists in every namespace."""
        access = self._settings.access
        if access is not None and name == ROOT_CA:
            return {"data": {"ca.crt": access.ca}}
        return await self._api.config_map(namespace, name)

    async def _bound(self, namespace: str, name: str) -> bool:
        """Whether the claim exists; its first use binds it."""
        claim = await self._api.claim(namespace, name)
        if claim is not None and (claim.get("status") or {}).get("phase") != "Bound":
            await self._api.bind_claim(claim)
        return claim is not None

    def local_ports(self, pod: Json) -> list[int]:
        """The local ports of the pod's declared ports, and the declared ports themselves."""
        declared = container_ports(pod)
        namespace, name = _key(pod)
        known = [self._ports.find(namespace, name, port) for port in declared]
        return [*(port for port in known if port is not None), *declared]

    async def _dns(self, pod: Json) -> ClusterDns:
        """A snapshot of names and ports."""
        services = await self._api.services(str(pod["metadata"]["namespace"]))
        pods = [pod, *(one for one in self._pods() if _key(one) != _key(pod))]
        return ClusterDns(services=services, pods=pods, claim=self._ports.claim)

    def _reserve_ports(
        self, pod: Json, dns: ClusterDns, *, renewed: Sequence[int]
    ) -> dict[int, int]:
        """Reserve the pod's own ports before any peer resolves them."""
        namespace, names = str(pod["metadata"]["namespace"]), dns.names_of(pod)
        found = {}
        for port in dns.own_ports(pod):
            settle = self._ports.renew if port in renewed else self._ports.claim
            found[port] = settle(namespace, names, port)
        return found

    def _prepare(
        self, pod: Json, found: FetchedObjects, has_claim: Mapping[str, bool]
    ) -> dict[str, str]:
        root = pod_folder(self._settings.pods_folder, str(pod["metadata"]["uid"]))
        make_folder(root)
        return prepare(
            pod,
            folder=root / "volumes",
            claims=self._settings.claims_folder,
            found=found,
            has_claim=has_claim,
        )

    def _launch(
        self,
        pod: Json,
        container: Json,
        record: PodRecord,
        *,
        variables: Mapping[str, str],
        translation: Translation,
    ) -> Launch:
        own = record.container(str(container["name"]))
        folder = container_folder(self._settings.pods_folder, record.uid, own.name)
        make_folder(folder)
        message = message_file(folder, own.instance)
        os.close(open_file(message, os.O_WRONLY | os.O_CREAT))
        spoken = Mount(
            str(container.get("terminationMessagePath") or DEFAULT_MESSAGE_PATH), str(message)
        )
        translation = msgspec.structs.replace(translation, mounts=(*translation.mounts, spoken))
        env = self._whole_environment(pod, container, record, translation.mapping(variables))
        cwd = self._working_folder(container, translation)
        surroundings.save(folder, Surroundings(env=env, cwd=cwd, mounts=translation.mounts))
        return Launch(
            argv=translation.words(command_line(container, variables)),
            env=env,
            cwd=cwd,
            log=str(folder / f"{own.instance}.log"),
            exit=str(folder / f"{own.instance}.exit"),
            marker=own.marker(record.uid),
            log_limit=self._settings.log_limit,
            log_files=self._settings.log_files,
        )

    def _variables(self, pod: Json, container: Json, found: FetchedObjects) -> dict[str, str]:
        located = {**pod, "spec": {**pod["spec"], "nodeName": self._settings.name}}
        sources = Sources(
            pod=located,
            config_maps=_texts_by_name(found.config_maps, config_map_values),
            secrets=_texts_by_name(found.secrets, secret_values),
            allocatable=self._settings.allocatable,
        )
        environment = environment_of(container, sources)
        if environment.faults:
            raise LaunchDeferredError("CreateContainerConfigError", "; ".join(environment.faults))
        return environment.variables

    def _whole_environment(
        self, pod: Json, container: Json, record: PodRecord, own: Mapping[str, str]
    ) -> dict[str, str]:
        base = dict(self._settings.environ)
        python_folder = base.get("PATH", "").partition(":")[0]
        if self._settings.access is not None:
            base |= service_variables(self._settings.access)
        base["HOSTNAME"] = str((pod.get("spec") or {}).get("hostname") or record.name)
        base |= cuda_variables(
            self._settings.gpus,
            gpus_for(pod, container, record.gpus),
            are_shared=self._settings.overcommit.shares_gpus,
        )
        base |= own
        base["PATH"] = with_first_folder(base.get("PATH", ""), python_folder)
        return base

    def _working_folder(self, container: Json, translation: Translation) -> str:
        asked = container.get("workingDir")
        return translation.path(str(asked)) if asked else str(self._settings.workdir)


def _with_real_mounts(launch: Launch, mounts: Sequence[Mount]) -> Launch:
    """Where possible, the paths exist for the container, too, besides their translation."""
    real = [(each.mount_path, each.place) for each in mounts if can_be_mounted(each.mount_path)]
    if not real or sys.platform != "linux":
        return launch
    root = Path(launch.log).with_name("root")
    make_folder(root)
    return msgspec.structs.replace(launch, mounts=tuple(real), root=str(root))


def gpus_for(pod: Json, container: Json, allocated: Sequence[str]) -> Sequence[str]:
    """The container's share of its pod's GPUs, in the order of the containers.

    Containers of a pod that got fewer than it asked for share them.
    """
    if container.get("name") in [c.get("name") for c in pod["spec"].get("initContainers") or ()]:
        return allocated[: gpus_of(container)]  # init containers run before the others
    before = 0
    for other in pod["spec"].get("containers") or ():
        if other.get("name") == container.get("name"):
            break
        before += gpus_of(other)
    places = range(before, before + gpus_of(container)) if allocated else ()
    return list(dict.fromkeys(allocated[place % len(allocated)] for place in places))


def gpus_of_pod(pod: Json) -> int:
    """The number of GPUs that the pod needs."""
    init = pod["spec"].get("initContainers") or ()
    together = sum(gpus_of(container) for container in pod["spec"].get("containers") or ())
    return max([together, *(gpus_of(container) for container in init)])


def message_file(folder: Path, instance: int) -> Path:
    """The termination message file of a run."""
    return folder / f"{instance}.message"


def _movable_ports(pod: Json, container: Json) -> list[int]:
    """Ports that may change at a restart: those of servers, which publish their address."""
    if not is_server(pod):
        return []
    return container_ports({"spec": {"containers": [container]}})


def container_spec(pod: Json, name: str) -> Json:
    return next(found for found in containers_of(pod) if found.get("name") == name)


def _texts_by_name(
    objects: Mapping[str, Json | None], values: Callable[[Json], dict[str, bytes]]
) -> dict[str, Json | None]:
    return {name: None if one is None else texts(values(one)) for name, one in objects.items()}


def _key(pod: Json) -> tuple[str, str]:
    return str(pod["metadata"]["namespace"]), str(pod["metadata"]["name"])
