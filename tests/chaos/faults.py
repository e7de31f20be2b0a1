"""What a chaos run breaks: processes, the network, and etcd's space.

Every fault ends by itself after a few seconds, and leaves everything running. All draws come from
the generator that is given, so that a seed repeats a run as far as timing allows.
"""

import asyncio
import base64
import random
import time
from contextlib import suppress
from typing import Any

from tests.support.controlplane.api import is_starting
from tests.support.controlplane.cluster import ControlPlane, StartError
from tests.support.controlplane.endpoint import ApiError
from tests.support.faulty_proxy import Fault, FaultyProxy, Kind, watches, writes
from tests.support.operator_process import OperatorProcess

_FILL_BYTES = 700_000
_MOST_FILLS = 400
_FILLS = "/api/v1/namespaces/default/configmaps"
_FOR_EVER = 1_000_000
_MOST_STARTS = 5
_PAUSE_SECONDS = 0.5
PATIENCE_SECONDS = 1200.0
"""How long a part may take to start; on a busy machine that is no fault of anybody."""


class Faults:
    """Faults on one control plane, its operator and the proxy between the two."""

    def __init__(
        self,
        plane: ControlPlane,
        operator: OperatorProcess,
        proxy: FaultyProxy,
        *,
        rng: random.Random,
    ) -> None:
        self._plane = plane
        self._operator = operator
        self._proxy = proxy
        self._rng = rng
        self._began = time.monotonic()
        self.told: list[str] = []
        self._all = (
            self.operator_killed,
            self.operator_killed,
            self.operator_frozen,
            self.apiserver_killed,
            self.apiserver_frozen,
            self.etcd_killed,
            self.network_cut,
            self.answers_lost,
            self.answers_lost,
            self.watches_cut,
        )

    async def one(self) -> None:
        """Let one fault happen, drawn at random."""
        if not self._operator.is_alive:
            self._tell(f"the operator has ended by itself:\n{self._operator.last_words()}")
            await asyncio.to_thread(self._operator.start, ready=False)
        await self._rng.choice(self._all)()

    async def operator_killed(self) -> None:
        away = self._rng.uniform(0, 3)
        self._tell(f"operator killed, away for {away:.1f} s")
        await asyncio.to_thread(self._operator.kill)
        await asyncio.sleep(away)
        await asyncio.to_thread(self._operator.start, ready=False)

    async def operator_frozen(self) -> None:
        away = self._rng.uniform(1, 5)
        self._tell(f"operator frozen for {away:.1f} s")
        self._operator.pause()
        await asyncio.sleep(away)
        self._operator.resume()

    async def apiserver_killed(self) -> None:
        away = self._rng.uniform(0, 4)
        self._tell(f"API server killed, away for {away:.1f} s")
        await asyncio.to_thread(self._plane.stop_apiserver)
        await asyncio.sleep(away)
        await asyncio.to_thread(self._start_apiserver)

    def _start_apiserver(self) -> None:
        """Start the API server, again if it ends by itself because etcd is not up yet."""
        for _ in range(_MOST_STARTS - 1):
            with suppress(StartError):
                self._plane.start_apiserver()
                return
            self._plane.stop_apiserver()
        self._plane.start_apiserver()

    async def apiserver_frozen(self) -> None:
        away = self._rng.uniform(1, 6)
        self._tell(f"API server frozen for {away:.1f} s")
        self._plane.pause_apiserver()
        await asyncio.sleep(away)
        self._plane.resume_apiserver()

    async def etcd_killed(self) -> None:
        away = self._rng.uniform(0, 3)
        self._tell(f"etcd killed, away for {away:.1f} s")
        await asyncio.to_thread(self._plane.stop_etcd)
        await asyncio.sleep(away)
        self._plane.start_etcd()

    async def network_cut(self) -> None:
        away = self._rng.uniform(1, 8)
        self._tell(f"network of the operator cut for {away:.1f} s")
        self._proxy.add(Fault(Kind.DROPPED, lambda _: True, times=_FOR_EVER))
        self._proxy.break_connections()
        await asyncio.sleep(away)
        self._proxy.clear()

    async def answers_lost(self) -> None:
        times = self._rng.randint(1, 10)
        kind = self._rng.choice(("pods", "services", "status"))
        self._tell(f"answers to the next {times} writes of {kind} lost")
        matches = writes(kind)
        if kind == "status":
            self._proxy.add(
                Fault(Kind.LOST, lambda request: request.path.endswith("/status"), times=times)
            )
        else:
            self._proxy.add(Fault(Kind.LOST, matches, times=times))

    async def watches_cut(self) -> None:
        self._tell("watches of the operator broken off")
        self._proxy.add(
            Fault(Kind.CUT, watches, times=2, bytes_let_through=self._rng.randint(1, 5000))
        )
        self._proxy.break_connections()

    async def space_exhausted(self) -> None:
        """Fill etcd until it refuses writes; free it again after a while, as a person would."""
        self._tell("etcd is being filled")
        made = await asyncio.to_thread(self._fill)
        self._tell(f"etcd refuses writes after {made} large objects")
        await asyncio.sleep(self._rng.uniform(3, 8))
        await asyncio.to_thread(self._free, made)
        self._tell("etcd has space again")

    def _fill(self) -> int:
        data = base64.b64encode(self._rng.randbytes(_FILL_BYTES * 3 // 4)).decode()
        for number in range(_MOST_FILLS):
            body = {"metadata": {"name": f"fill-{number}"}, "data": {"filling": data}}
            if not self._is_taken(body):
                return number
        raise AssertionError(f"etcd took {_MOST_FILLS} objects of {_FILL_BYTES} bytes: no limit?")

    def _is_taken(self, body: dict[str, Any]) -> bool:
        """Whether etcd has space for an object; a server that is still starting is asked again."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                self._plane.endpoint.request("POST", _FILLS, body)
            except ApiError as refusal:
                if "space exceeded" in str(refusal):
                    return False
                if refusal.reason == "AlreadyExists":
                    return True
                is_away = refusal.status >= 500 or refusal.status == 429 or is_starting(refusal)
                if not is_away or time.monotonic() > deadline:
                    raise
            except OSError:
                if time.monotonic() > deadline:
                    raise
            else:
                return True
            time.sleep(_PAUSE_SECONDS)

    def _free(self, made: int) -> None:
        """Delete what fills it, compact, defragment, and end the alarm."""
        for number in range(made):
            with suppress(ApiError, OSError):
                self._plane.endpoint.request("DELETE", f"{_FILLS}/fill-{number}")
        etcd = self._plane.etcd
        found: dict[str, Any] = etcd.request("POST", "/v3/kv/range", {"key": "AA=="})
        revision, member = (found["header"][key] for key in ("revision", "member_id"))
        etcd.request("POST", "/v3/kv/compaction", {"revision": revision, "physical": True})
        etcd.request("POST", "/v3/maintenance/defragment", {})
        alarm = {"action": "DEACTIVATE", "alarm": "NOSPACE", "memberID": member}
        etcd.request("POST", "/v3/maintenance/alarm", alarm)
        left = etcd.request("POST", "/v3/maintenance/alarm", {"action": "GET"})
        assert not left.get("alarms"), f"etcd still refuses writes: {left}"

    def _tell(self, what: str) -> None:
        line = f"{time.monotonic() - self._began:7.1f} s  {what}"
        self.told.append(line)
        print(line, flush=True)
