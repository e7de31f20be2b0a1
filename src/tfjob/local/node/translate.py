"""Translates cluster names and paths in arguments and variables to those of this machine.

`<service>.<namespace>.svc[.domain][:port]` becomes a loopback address, and a path below a mount the
path in its folder. In arguments, wildcard addresses become loopback, and `--port` gets the local
port. Everything else stays, and the API never shows translated text.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Protocol

import msgspec

LOOPBACK = "127.0.0.1"
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_HOST = re.compile(rf"(?<![\w.@-])({_LABEL}(?:\.{_LABEL})*)(?:\.?:(\d{{1,5}})(?!\d))?(?![\w@-])")

_NUMBERED = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?-\d+")
_EVERYWHERE = re.compile(r"(?<![\w.])0\.0\.0\.0(?::(\d{1,5}))?(?![\w.])(?!/\d)")
# Two colons are common in text, so only a whole word counts as an IPv6 address.
_EVERYWHERE_6 = re.compile(r"(--?[\w-]+=)?(?:::|\[::\](?::(\d{1,5}))?)")
_PORT_FLAG = "--port"
_PORT_OPTION = re.compile(r"(?<![\w-])(--port[= ])(\d{1,5})(?![\w.])")


class Mount(msgspec.Struct, frozen=True):
    """A path in the container and the local path behind it."""

    mount_path: str
    place: str


class Dns(Protocol):
    """Resolves names of Services and pods to local ports."""

    def is_known(self, namespace: str, name: str) -> bool:
        """Whether a Service of this name exists."""

    def port(self, namespace: str, name: str, port: int) -> int:
        """The local port; allocated now if needed."""


class Translation(msgspec.Struct, frozen=True, kw_only=True):
    """What the texts of one container are translated with."""

    namespace: str
    mounts: tuple[Mount, ...]
    dns: Dns
    own_ports: Mapping[int, int] = {}

    def text(self, text: str) -> str:
        """The text with local addresses and paths."""
        return self._hosts(with_local_paths(text, self.mounts))

    def mapping(self, variables: Mapping[str, str]) -> dict[str, str]:
        return {name: self.text(value) for name, value in variables.items()}

    def words(self, words: Sequence[str]) -> tuple[str, ...]:
        """The arguments of a command; addresses to listen on become loopback."""
        spoken = [self._everywhere(self.text(word)) for word in words]
        for place, (flag, word) in enumerate(pairwise(words), start=1):
            if flag == _PORT_FLAG and word.isdecimal():
                spoken[place] = self._own_port(word)
        return tuple(_PORT_OPTION.sub(self._port_option, word) for word in spoken)

    def _everywhere(self, word: str) -> str:
        whole = _EVERYWHERE_6.fullmatch(word)
        if whole is not None:
            return (whole[1] or "") + self._loopback(whole[2])
        return _EVERYWHERE.sub(lambda match: self._loopback(match[1]), word)

    def _loopback(self, port: str | None) -> str:
        return LOOPBACK if port is None else f"{LOOPBACK}:{self._own_port(port)}"

    def _port_option(self, match: re.Match[str]) -> str:
        return match[1] + self._own_port(match[2])

    def _own_port(self, digits: str) -> str:
        return str(self.own_ports.get(int(digits), digits))

    def path(self, path: str) -> str:
        """A whole path, such as a working directory."""
        for mount in _longest_first(self.mounts):
            if path == mount.mount_path or path.startswith(mount.mount_path + "/"):
                return mount.place + path[len(mount.mount_path) :]
        return path

    def _hosts(self, text: str) -> str:
        if ":" not in text and ".svc" not in text:
            return text  # the common case, and much cheaper than the pattern below
        is_roster = any(self._is_known_number(match) for match in _HOST.finditer(text))
        return _HOST.sub(lambda match: self._host(match, is_roster=is_roster), text)

    def _is_known_number(self, match: re.Match[str]) -> bool:
        """Whether this is one of several numbered Services, such as `ps-0:2222`."""
        is_numbered = match[2] is not None and _NUMBERED.fullmatch(match[1]) is not None
        return is_numbered and self.dns.is_known(self.namespace, match[1])

    def _host(self, match: re.Match[str], *, is_roster: bool) -> str:
        address = self._address(match[1].split("."), has_port=match[2] is not None)
        if address is None and is_roster and match[2] and _NUMBERED.fullmatch(match[1]):
            # It is listed beside known peers, so its Service will appear soon.
            address = self.namespace, match[1]
        if address is None:
            return match[0]
        if match[2] is None:
            return LOOPBACK
        namespace, name = address
        return f"{LOOPBACK}:{self.dns.port(namespace, name, int(match[2]))}"

    def _address(self, labels: list[str], *, has_port: bool) -> tuple[str, str] | None:
        """Namespace and name that a host refers to; None if it is not a cluster name."""
        if "svc" in labels[2:]:
            place = labels.index("svc", 2)
            return labels[place - 1], ".".join(labels[: place - 1])
        if not has_port or len(labels) > 2:
            return None
        name, namespace = labels[0], labels[1] if len(labels) == 2 else self.namespace
        return (namespace, name) if self.dns.is_known(namespace, name) else None


def with_local_paths(text: str, mounts: Sequence[Mount]) -> str:
    """The text with the local paths of everything below a mount."""
    places = {mount.mount_path: mount.place for mount in _longest_first(mounts)}
    if not places:
        return text
    known = "|".join(re.escape(path) for path in places)
    pattern = rf"(?:(?<![\w./-])|(?<=file://))({known})(?=$|/|[^\w.-])"
    return re.sub(pattern, lambda match: places[match[1]], text)


def _longest_first(mounts: Sequence[Mount]) -> list[Mount]:
    cleaned = [Mount(mount.mount_path.rstrip("/"), mount.place) for mount in mounts]
    usable = [mount for mount in cleaned if mount.mount_path]
    return sorted(usable, key=lambda mount: -len(mount.mount_path))
