"""A measured figure beside its limit, by the clock and by the CPU time it took."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Figure:
    """`value` is what a person waits for; `by_cpu` what it would be on a machine of its own."""

    title: str
    unit: str
    value: float
    limit: float | None = None
    is_least: bool = False
    """Whether the limit is the least that is allowed, and not the most."""
    by_cpu: float | None = None

    def is_within(self, *, is_busy: bool) -> bool:
        """Whether the limit is kept; on a busy machine CPU time is judged where it is known."""
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
