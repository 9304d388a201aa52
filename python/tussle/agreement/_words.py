"""Numbers of a comparison as text."""

from __future__ import annotations

from tussle.agreement._quantities import QUANTITIES

_RELATIVE = {quantity.name: quantity.difference == "relative" for quantity in QUANTITIES}
_POINTS = "share_percent"


def number(value: float | None) -> str:
    """Write a number with four digits, or a dash for `None`.

    >>> number(12.3456), number(None), number(123456.0)
    ('12.35', '-', '123456')
    """
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"  # noqa: PLR2004 (four digits)


def amount(quantity: str, value: float | None) -> str:
    """Write the size of a difference of a quantity.

    >>> amount("rtt_mean_ms", 0.0312), amount("share_percent", 2.04), amount("timeouts", 1.0)
    ('3.1 %', '2 points', '1')
    """
    if value is None:
        return "-"
    if _RELATIVE[quantity]:
        return f"{100 * value:.2g} %" if abs(value) < 0.1 else f"{100 * value:.0f} %"  # noqa: PLR2004 (two digits)
    return f"{value:.2g} points" if quantity == _POINTS else f"{value:.2g}"


def signed(quantity: str, value: float | None) -> str:
    """Write a difference with its sign.

    >>> signed("rtt_mean_ms", -0.0312), signed("share_percent", 2.04)
    ('-3.1 %', '+2 points')
    """
    text = amount(quantity, value)
    return f"+{text}" if value is not None and value > 0 else text
