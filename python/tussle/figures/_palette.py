"""Colours: one for each algorithm, and a scale for shares around the fair one."""

from __future__ import annotations

from collections.abc import Sequence
from colorsys import hls_to_rgb
from hashlib import sha256

_ALGORITHMS = {
    "reno": "#3663db",
    "cubic": "#b84a14",
    "bic": "#875581",
    "vegas": "#40a179",
    "westwood": "#ea6a66",
    "veno": "#c374d5",
    "htcp": "#1f744f",
    "hybla": "#2b97ee",
    "illinois": "#a48b08",
    "lp": "#5e84a8",
    "yeah": "#91726c",
    "highspeed": "#cb5790",
    "scalable": "#9a59be",
    "bbr": "#268b2d",
    "bbr3": "#b73b5d",
    "dctcp": "#a78995",
    "prague": "#ce533e",
    "cdg": "#346d9f",
    "nv": "#0f8d81",
    "ledbat": "#7577e3",
    "copa": "#6b6e1f",
    "vivace": "#2ba0bb",
}
"""Chosen for the largest distances between neighbours in this list, for readers with full colour vision and
with each kind of colour blindness, among colours that stand out from white and from almost black (3 to 1)."""

SHARES = (
    "#8f3f05",
    "#c8690f",
    "#ee9f4f",
    "#f9cf9f",
    "#f6f4f0",
    "#b5d3e8",
    "#6fabd4",
    "#2f7cb5",
    "#124e84",
)
"""Share of the first flow from 0 to 1 in even steps: orange below the fair half, blue above it. Signed
quantities are orange below 0 and blue above it."""

AMOUNTS = (
    "#f4f4ef",
    "#d3e3d8",
    "#a9cfc3",
    "#7bb8b3",
    "#4f9ea6",
    "#2e8097",
    "#205f82",
)
"""Any other quantity from its least to its greatest value: the darker, the more."""

_SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-left",
    "triangle-right",
)

GUIDE = "#808080"
"""Guide lines and their labels: readable on white and on almost black."""

QUEUE = "#6f7d8c"
"""The bottleneck's queue, which is no algorithm's."""

_BLACK, _NEAR_BLACK, _WHITE = "#000000", "#16181d", "#ffffff"


def algorithm_colour(name: str) -> str:
    """Return the colour of an algorithm; if not in the list, a colour computed from its name."""
    if name in _ALGORITHMS:
        return _ALGORITHMS[name]
    hue = int.from_bytes(sha256(name.encode()).digest()[:2]) / 65536
    return _at_middle_luminance(hue)


def algorithm_shape(name: str) -> str:
    """Return the shape of an algorithm's points, for prints without colours; algorithms share shapes."""
    known = list(_ALGORITHMS)
    place = known.index(name) if name in known else sha256(name.encode()).digest()[2]
    return _SHAPES[place % len(_SHAPES)]


def share_colour(share: float) -> str:
    """Return the colour of a share of 0 to 1, between the two nearest of `SHARES`."""
    return mixed_colour(SHARES, share)


def mixed_colour(ramp: Sequence[str], part: float) -> str:
    """Return the colour at a position of 0 to 1 on a ramp, between the two nearest of its colours."""
    place = min(max(part, 0.0), 1.0) * (len(ramp) - 1)
    below = min(int(place), len(ramp) - 2)
    beyond = place - below
    mixed = zip(_channels(ramp[below]), _channels(ramp[below + 1]), strict=True)
    return _hexadecimal([low + (high - low) * beyond for low, high in mixed])


def ink_on(colour: str) -> str:
    """Return the text colour, dark or light, that is easier to read on this one."""
    return max(_BLACK, _WHITE, key=lambda ink: contrast(ink, colour))


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, 1 to 21 (WCAG 2.2, contrast ratio)."""
    brighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def _at_middle_luminance(hue: float) -> str:
    """Find the colour of this hue that stands out from white as much as from almost black, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(16):
        lightness = (low + high) / 2
        colour = _hexadecimal(hls_to_rgb(hue, lightness, 0.55))
        if contrast(colour, _WHITE) > contrast(colour, _NEAR_BLACK):
            low = lightness
        else:
            high = lightness
    return _hexadecimal(hls_to_rgb(hue, low, 0.55))


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(channel) for channel in _channels(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    """Undo the transfer function of sRGB (IEC 61966-2-1)."""
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4  # noqa: PLR2004


def _channels(colour: str) -> list[float]:
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def _hexadecimal(channels: list[float] | tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(channel * 255):02x}" for channel in channels)
