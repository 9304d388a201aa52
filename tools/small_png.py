"""Makes PNG files several times smaller: a palette instead of four bytes a pixel."""

import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = ">IIBBBBB"
_RGBA = (8, 6, 0, 0, 0)
_INDEXED = (8, 3, 0, 0, 0)
_SUB = 1
_MOST_COLOURS = 256

Colour = tuple[int, int, int]


def with_palette(png: bytes) -> bytes:
    """Reduce an opaque picture to 256 colours at the same resolution.

    Raises ValueError for a file that vl-convert does not write: other than RGBA with rows filtered by "sub".
    """
    parts = list(_parts(png))
    width, height, *form = struct.unpack(_HEADER, parts[0][1])
    if tuple(form) != _RGBA:
        raise ValueError(f"a PNG of the form {form} instead of {_RGBA}")
    filtered = zlib.decompress(b"".join(content for kind, content in parts if kind == b"IDAT"))
    stride = 4 * width + 1
    rows = [_colours(filtered[at : at + stride]) for at in range(0, height * stride, stride)]
    # Merging shades that look the same leaves palette entries for lines of all colours.
    counted = Counter(_coarse(colour) for row in rows for colour in row)
    palette = [colour for colour, _ in counted.most_common(_MOST_COLOURS)]
    place = {colour: _nearest(palette, colour) for colour in counted}
    indexed = b"".join(b"\0" + bytes(place[_coarse(colour)] for colour in row) for row in rows)
    return _SIGNATURE + b"".join(
        _part(kind, content)
        for kind, content in (
            (b"IHDR", struct.pack(_HEADER, width, height, *_INDEXED)),
            (b"PLTE", bytes(channel for colour in palette for channel in colour)),
            (b"IDAT", zlib.compress(indexed, 9)),
            (b"IEND", b""),
        )
    )


def _parts(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def _part(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _colours(filtered_row: bytes) -> list[Colour]:
    """Undo the filter "sub" of a row, which stores each byte's difference from the pixel to the left."""
    if filtered_row[0] != _SUB:
        raise ValueError(f"a PNG with the filter {filtered_row[0]} instead of {_SUB}")
    channels = [_sums(filtered_row[1 + channel :: 4]) for channel in range(3)]
    return list(zip(*channels, strict=True))


def _sums(differences: Iterable[int]) -> Iterator[int]:
    return accumulate(differences, lambda left, difference: (left + difference) & 0xFF)


def _coarse(colour: Colour) -> Colour:
    """Round to steps of 8 that keep white exactly white."""
    red, green, blue = (channel | 0x07 for channel in colour)
    return red, green, blue


def _nearest(palette: list[Colour], wanted: Colour) -> int:
    return min(
        range(len(palette)),
        key=lambda i: sum((a - b) ** 2 for a, b in zip(palette[i], wanted, strict=True)),
    )
