"""The panel below the log of the live view: the job, its replica types and its replicas.

It never takes more lines than it is given. If the replicas do not all fit, it sums up each replica
type in one line and lists only the replicas that need attention.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from rich.console import Group
from rich.text import Text

from tfjob.cli.printing import plain_line
from tfjob.cli.run_output import ReplicaRow, phase_colour, role_colour, role_of

_ATTENTION: Final = {
    "Failed": 0,
    "Unknown": 1,
    "Pending": 2,
    "Terminating": 3,
    "Deleted": 3,
    "Running": 6,
    "Stopped": 7,
    "Succeeded": 8,
}
"""The order of phases in which replicas are shown."""
_RESTARTED: Final = 4
_QUIET: Final = 5
_CALM: Final = 6
"""From here on a replica needs no attention."""
_HEAD: Final = ("REPLICA", "PHASE", "RESTARTS")


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    state: str
    elapsed: float
    rows: Sequence[ReplicaRow]
    progress: Mapping[str, Text] = {}
    """The unfinished line of each replica that keeps overwriting one."""
    quiet: Mapping[str, float] = {}
    """Seconds without output, of replicas whose peers write."""
    chosen: str = ""
    """The replica whose lines alone are printed."""
    footer: str = ""

    def render(self, *, height: int, width: int) -> Group:
        """At most `height` lines of at most `width` characters."""
        lines = [Text(), self._title_line()]
        height_left = height - len(lines) - bool(self.footer)
        lines.extend(self._replica_lines(max(height_left, 1)))
        if self.footer:
            lines.append(Text(self.footer, style="dim"))
        for line in lines:
            line.truncate(width, overflow="ellipsis")
        return Group(*lines)

    def _title_line(self) -> Text:
        state = plain_line(self.state) or "Starting"
        text = Text.assemble((self.title, "bold"), "  ", (state, "bold"), f"  {self.elapsed:.0f}s")
        if self.chosen:
            text.append(f"  only {self.chosen}", style=role_colour(self.chosen))
        return text

    def _replica_lines(self, height_left: int) -> list[Text]:
        if not self.rows:
            return []
        if len(self.rows) < height_left:
            return self._table(self.rows)
        lines = self._overview()[:height_left]
        urgent = sorted((row for row in self.rows if self._rank(row) < _CALM), key=self._rank)
        height_left -= len(lines)
        if not urgent or height_left < 1:
            return lines
        shown = urgent if len(urgent) <= height_left else urgent[: height_left - 1]
        lines.extend(self._table(shown)[1:])
        hidden = urgent[len(shown) :]
        return [*lines, _rest(hidden)] if hidden else lines

    def _rank(self, row: ReplicaRow) -> int:
        if row.replica == self.chosen:
            return -1
        rank = _ATTENTION.get(row.phase, 1)
        if row.phase == "Running" and row.restarts:
            return _RESTARTED
        return _QUIET if row.phase == "Running" and row.replica in self.quiet else rank

    def _overview(self) -> list[Text]:
        roles: dict[str, list[ReplicaRow]] = {}
        for row in self.rows:
            roles.setdefault(role_of(row.replica), []).append(row)
        width = max(map(len, roles))
        lines = []
        for role, rows in roles.items():
            line = Text.assemble((role.ljust(width), role_colour(role)), f"  {len(rows):>3}  ")
            line.append_text(_counts(rows))
            if restarts := sum(row.restarts for row in rows):
                line.append(f"  {restarts} restart{'s' if restarts > 1 else ''}", style="yellow")
            lines.append(line)
        return lines

    def _table(self, rows: Sequence[ReplicaRow]) -> list[Text]:
        cells = [(row.replica, plain_line(row.phase), str(row.restarts)) for row in rows]
        widths = [max(map(len, column)) for column in zip(_HEAD, *cells, strict=True)]
        head = "  ".join(name.ljust(width) for name, width in zip(_HEAD, widths, strict=True))
        lines = [Text(head.rstrip(), style="dim")]
        for row, (replica, phase, restarts) in zip(rows, cells, strict=True):
            line = Text()
            line.append(replica.ljust(widths[0]), style=role_colour(replica))
            line.append(f"  {phase.ljust(widths[1])}", style=phase_colour(row.phase))
            line.append(f"  {restarts.ljust(widths[2])}  ")
            line.append_text(self._remark(row))
            lines.append(line)
        return lines

    def _remark(self, row: ReplicaRow) -> Text:
        if row.why:
            return Text(plain_line(row.why))
        if row.replica in self.progress:
            return self.progress[row.replica]
        quiet = self.quiet.get(row.replica)
        return Text("" if quiet is None else f"no output for {quiet:.0f}s", style="yellow")


def _rest(rows: Sequence[ReplicaRow]) -> Text:
    return Text.assemble(("and more: ", "dim"), _counts(rows))


def _counts(rows: Sequence[ReplicaRow]) -> Text:
    """`38 Running, 1 Failed`, those that need attention first."""
    counts = Counter(row.phase for row in rows)
    text = Text()
    for phase in sorted(counts, key=lambda each: _ATTENTION.get(each, 1)):
        text.append(", " if text else "")
        text.append(f"{counts[phase]} {plain_line(phase)}", style=phase_colour(phase))
    return text
