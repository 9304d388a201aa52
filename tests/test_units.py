"""Parsing of quantities with units."""

from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tussle import units
from tussle.units import Buffer, UnitError


@pytest.mark.parametrize(
    ("text", "bit_per_s"),
    [
        ("100 Mbit/s", 100_000_000),
        ("100Mbit/s", 100_000_000),
        ("100 Mbps", 100_000_000),
        ("100mbps", 100_000_000),
        ("100mbit", 100_000_000),
        ("1.5 Gbit/s", 1_500_000_000),
        ("1e3 kbit/s", 1_000_000),
        ("12 MB/s", 96_000_000),
        ("12 Mbyte/s", 96_000_000),
        (" 7 bit/s ", 7),
    ],
)
def test_a_rate_is_parsed_in_every_usual_spelling(text: str, bit_per_s: int):
    assert units.rate(text) == bit_per_s


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("40 ms", 40_000_000),
        ("1.5s", 1_500_000_000),
        ("3 us", 3000),
        ("3 µs", 3000),
        ("2 min", 120 * 10**9),
        (0, 0),
    ],
)
def test_a_time_is_parsed_to_whole_nanoseconds(text: object, ns: int):
    assert units.time(text) == ns


@pytest.mark.parametrize(
    ("text", "size_bytes"), [("300 kB", 300_000), ("1 MiB", 1_048_576), ("1448 B", 1448), ("2 bytes", 2)]
)
def test_sizes_distinguish_decimal_and_binary_units(text: str, size_bytes: int):
    assert units.size(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "buffer"),
    [
        ("1 bdp", Buffer(Fraction(1), "bdp")),
        ("0.1 BDP", Buffer(Fraction(1, 10), "bdp")),
        ("100 packets", Buffer(Fraction(100), "packets")),
        ("1 packet", Buffer(Fraction(1), "packets")),
        ("300 kB", Buffer(Fraction(300_000), "bytes")),
        ("40 ms", Buffer(Fraction(40_000_000), "ns")),
    ],
)
def test_a_buffer_keeps_its_unit(text: str, buffer: Buffer):
    assert units.buffer(text) == buffer


def test_a_fraction_is_exact():
    assert units.fraction("0.00005 %") == Fraction(5, 10_000_000)


@pytest.mark.parametrize(
    ("parse", "written", "sentence"),
    [
        (units.rate, 100, '100 has no unit; write a rate like "100 Mbit/s" (bit/s, kbit/s, Mbit/s, Gbit/s)'),
        (units.time, "40", '"40" has no unit; write a time like "40 ms" (ns, us, ms, s, min, h)'),
        (units.fraction, "0.01", '"0.01" has no unit; write "1 %" for 0.01 of 1, or "0.01 %"'),
        (units.fraction, "1e-3", '"1e-3" has no unit; write "0.1 %" for 0.001 of 1, or "0.001 %"'),
        (units.fraction, "50", '"50" has no unit; write a fraction like "0.01 %" (%)'),
        (units.size, "1 Gbit", '"1 Gbit" is in bits; write bytes, like "300 kB"'),
        (units.buffer, "100 kbit", '"100 kbit" is in bits; write bytes, like "300 kB"'),
        (units.rate, "40 ms", '"40 ms" is a time, not a rate; write one like "100 Mbit/s"'),
        (
            units.time,
            "1 bdp",
            '"1 bdp" is a multiple of the bandwidth-delay product, not a time; write one like "40 ms"',
        ),
        (units.rate, "3 Mbits", '"3 Mbits" has an unknown unit; did you mean Mbit/s?'),
        (units.rate, "3 parsecs", '"3 parsecs" has an unknown unit; use bit/s, kbit/s, Mbit/s, Gbit/s'),
        (units.rate, "1 mb/s", '"1 mb/s" is ambiguous; write Mbit/s for bits or MB/s for bytes'),
        (units.size, "5 KB", '"5 KB" is ambiguous; write kB for 1000 bytes or KiB for 1024'),
        (units.time, "5 m", '"5 m" is ambiguous; write min for minutes or ms for milliseconds'),
        (units.rate, "-3 Mbit/s", '-3 Mbit/s is negative; give a rate like "100 Mbit/s"'),
        (units.rate, "1e30 bit/s", "1e30 bit/s is too large; give at most 400 Gbit/s"),
        (units.time, "0.5 ns", '"0.5 ns" is finer than 1 ns; give a whole number of ns'),
        (units.buffer, "0.5 packets", '"0.5 packets" is not a whole number of packets'),
        (units.buffer, 100, '100 has no unit; write a buffer like "1 bdp" (packets, B, kB, MB, ms, bdp)'),
        (units.time, float("nan"), 'NaN has no unit; write a time like "40 ms" (ns, us, ms, s, min, h)'),
        (units.time, True, 'true is not a time; write one like "40 ms"'),
        (units.size, None, 'null is not a size; write one like "300 kB"'),
    ],
)
def test_an_unparsable_quantity_is_refused_with_an_example(parse, written: object, sentence: str):
    with pytest.raises(UnitError) as refused:
        parse(written)
    assert str(refused.value) == sentence


@given(st.integers(0, 10**12), st.sampled_from([("ns", 1), ("us", 10**3), ("ms", 10**6), ("s", 10**9)]))
def test_a_time_is_parsed_without_loss_of_digits(amount: int, unit: tuple[str, int]):
    name, ns = unit
    if amount * ns <= 720 * 3600 * 10**9:
        assert units.time(f"{amount} {name}") == amount * ns
        assert (
            units.time(f"{Fraction(amount, 1000).numerator}e-0 {name}")
            == Fraction(amount, 1000).numerator * ns
        )


@given(st.one_of(st.text(max_size=40), st.floats(), st.integers(), st.none(), st.booleans(), st.binary()))
def test_arbitrary_text_is_parsed_or_refused(written: object):
    for parse in (units.rate, units.time, units.size, units.fraction, units.buffer):
        with suppress(UnitError):
            parse(written)
