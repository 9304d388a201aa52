"""Shrinking: the simplest scenario that is still as bad."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tussle.worst._space import Settings, Space

_MOST_ROUNDS = 20


TOLERANCE = 0.1
"""Part of the badness that a simpler scenario may lose."""


def least(worst: float) -> float:
    """Return the least badness that counts as bad as `worst`."""
    return worst - TOLERANCE * abs(worst)


def shrunk(
    space: Space,
    worst: Settings,
    enough: float,
    evaluate: Callable[[Sequence[Settings]], list[float]],
) -> Settings:
    """Set dimensions back to their plain values, as long as the badness stays at `enough` or above.

    In each round, every dimension is set back alone; then as many as possible together, those first that
    cost least. At the end the remaining numbers are rounded to one digit, one after the other.
    """
    plain, now = space.plain(), dict(worst)
    for _ in range(_MOST_ROUNDS):
        keys = [key for key in now if now[key] != plain[key]]
        if not keys:
            break
        alone = dict(zip(keys, evaluate([now | {key: plain[key]} for key in keys]), strict=True))
        able = sorted((key for key in keys if alone[key] >= enough), key=lambda key: -alone[key])
        if not able:
            break
        together = [now | {key: plain[key] for key in able[: count + 1]} for count in range(len(able))]
        fits = [each for each, value in zip(together, evaluate(together), strict=True) if value >= enough]
        # The first one alone was bad enough, so that at least one fits.
        now = fits[-1] if fits else together[0]
    for dimension in space.dimensions:
        value = now[dimension.key]
        if value != plain[dimension.key] and (simpler := dimension.simpler(value)) != value:
            tried = now | {dimension.key: simpler}
            if evaluate([tried])[0] >= enough:
                now = tried
    return now
