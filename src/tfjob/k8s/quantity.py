"""Resource quantities such as `500m`, `1Gi` or `2e3`: exact numbers with their suffix format.

Parsing never raises: anything else yields None. Arithmetic is exact, in integer multiples of 10^-9,
the finest resolution of Kubernetes.
"""

import enum
import re
from dataclasses import dataclass, field

_PATTERN = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([a-zA-Z]*)([+-]?[0-9]*)")
_NANO_DIGITS = 9
_NANO = 10**_NANO_DIGITS
_LARGEST_BINARY = (2**63 - 1) * _NANO
# A short exponent could otherwise expand to gigabytes of digits.
_LARGEST_EXPONENT = 1000

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"": 0, "Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIXES = {exponent: suffix for suffix, exponent in _BINARY.items()}


class Form(enum.Enum):
    """The suffix format in which a quantity was written and is rendered."""

    DECIMAL = "12M"
    BINARY = "12Mi"
    EXPONENT = "12e6"


@dataclass(frozen=True, order=True, slots=True)
class Quantity:
    """A number in units of 10^-9. Quantities compare by number, whatever their format."""

    nano: int
    form: Form = field(default=Form.DECIMAL, compare=False)

    def __add__(self, other: "Quantity") -> "Quantity":
        """The sum, in the format of the first operand unless that is zero."""
        return Quantity(self.nano + other.nano, self.form if self.nano else other.form)

    def rounded_up(self) -> int:
        """The number in whole units, rounded away from zero."""
        return _divided_away_from_zero(self.nano, _NANO)

    def render(self) -> str:
        """The canonical text: no fraction, and the largest suffix that loses no digit."""
        if self.nano == 0:
            return "0"
        if self.form is Form.BINARY and self.nano % _NANO == 0 and abs(self.nano) >= 1024 * _NANO:
            number, exponent = _without_factor(self.nano // _NANO, 1024, most=max(_BINARY_SUFFIXES))
            return f"{number}{_BINARY_SUFFIXES[exponent]}"
        if self.form is Form.EXPONENT:
            number, thousands = _without_factor(self.nano, 1000, most=_LARGEST_EXPONENT)
            exponent = 3 * thousands - _NANO_DIGITS
            return f"{number}e{exponent}" if exponent else str(number)
        number, thousands = _without_factor(self.nano, 1000, most=len(_DECIMAL_SUFFIXES) - 1)
        return f"{number}{_DECIMAL_SUFFIXES[3 * thousands - _NANO_DIGITS]}"


def parse(text: object) -> Quantity | None:
    """Parse a quantity from a JSON string or number; None for anything else."""
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        return None
    try:
        return _parse(str(text).strip())
    except ValueError:  # more digits than int() accepts
        return None


def _parse(text: str) -> Quantity | None:
    match = _PATTERN.fullmatch(text)
    if match is None:
        return None
    sign, digits, fraction, suffix, power = match.groups(default="")
    scale = _scale(suffix, power)
    if scale is None or not digits + fraction:
        return None
    form, factor, exponent = scale
    nano = _shifted(int(digits + fraction) * factor, exponent - len(fraction) + _NANO_DIGITS)
    if form is Form.BINARY:
        nano = min(nano, _LARGEST_BINARY)
        form = form if nano == 0 or nano >= _NANO else Form.DECIMAL
    return Quantity(-nano if sign == "-" else nano, form)


def _scale(suffix: str, power: str) -> tuple[Form, int, int] | None:
    """Format, integer factor and decimal exponent of a suffix; None for an unknown suffix."""
    if power:
        exponent = int(power) if suffix in {"e", "E"} and power.strip("+-") else None
        if exponent is None or abs(exponent) > _LARGEST_EXPONENT:
            return None
        return Form.EXPONENT, 1, exponent
    if suffix in _DECIMAL:
        return Form.DECIMAL, 1, _DECIMAL[suffix]
    if suffix in _BINARY:
        return Form.BINARY, 1024 ** _BINARY[suffix], 0
    return None


def _shifted(number: int, digits: int) -> int:
    """The number times 10**digits, rounded up, so that a small quantity never becomes 0."""
    factor: int = 10 ** abs(digits)
    return number * factor if digits >= 0 else _divided_away_from_zero(number, factor)


def _divided_away_from_zero(number: int, divisor: int) -> int:
    return -(-number // divisor) if number > 0 else number // divisor


def _without_factor(number: int, factor: int, *, most: int) -> tuple[int, int]:
    """Divide by the factor as often as possible without remainder; returns number and count."""
    times = 0
    while times < most and number % factor == 0:
        number //= factor
        times += 1
    return number, times
