"""A measured figure and its limit, in wall-clock time and in CPU time."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Figure:
    """`value` is wall-clock time; `by_cpu` estimates it for an otherwise idle machine."""

    title: str
    unit: str
    value: float
    limit: float | None = None
    is_least: bool = False
    """Whether the limit is a minimum instead of a maximum."""
    by_cpu: float | None = None

    def is_within(self, *, is_busy: bool) -> bool:
        """Whether the figure is within its limit; on a busy machine by CPU time, if known."""
        if self.limit is None:
            return True
        judged = self.by_cpu if is_busy and self.by_cpu is not None else self.value
        return judged >= self.limit if self.is_least else judged <= self.limit

    def row(self, *, is_busy: bool) -> str:
        verdict = (
            "" if self.limit is None else "ok" if self.is_within(is_busy=is_busy) else "BROKEN"
        )
        cells = (_text(self.value), _text(self.by_cpu), self._limit_text(), self.unit, verdict)
        return f"| {self.title:<52} | " + " | ".join(f"{each:>9}" for each in cells) + " |"

    def _limit_text(self) -> str:
        if self.limit is None:
            return ""
        return f"{'≥' if self.is_least else '≤'} {_text(self.limit)}"


HEAD = (
    f"| {'figure':<52} | {'measured':>9} | {'by CPU':>9} | {'limit':>9} | {'unit':>9} | {'':>9} |\n"
    f"|{'-' * 54}|" + f"{'-' * 10}:|" * 4 + f"{'-' * 11}|"
)


def _text(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"
