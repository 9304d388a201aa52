"""The kinds of value that a scenario's fields take: quantities, names, switches, and axes over them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, WithJsonSchema
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from tussle import units
from tussle.catalog import algorithm_names, groups, without_groups
from tussle.errors import shown, unknown
from tussle.own_algorithms import is_own
from tussle.profiles import profiles
from tussle.scenario.buffers import BufferInRun
from tussle.scenario.distributions import EXAMPLE, Distribution, run_distribution, size_distribution
from tussle.scenario.recordings import RecordingError
from tussle.scenario.rtt_series import read_rtt_series
from tussle.scenario.traces import read_trace

_MOST_I64 = 2**63 - 1
"""Largest integer of TOML."""


def refusal(sentence: str) -> PydanticCustomError:
    """Make a validation error whose message is `sentence`, word for word."""
    return PydanticCustomError("tussle", "{sentence}", {"sentence": sentence})


T = TypeVar("T")


@dataclass(frozen=True)
class _Axis:
    """Accept a list in place of a single value: one run for each."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        single = handler.generate_schema(get_args(source)[0])
        return core_schema.no_info_wrap_validator_function(
            self._validate,
            single,
            serialization=core_schema.plain_serializer_function_ser_schema(self._plain),
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        single = handler(schema)
        return {"anyOf": [single, {"type": "array", "items": single, "minItems": 1}]}

    @staticmethod
    def _plain(value: Any) -> Any:
        return list(value) if isinstance(value, tuple) else value

    @staticmethod
    def _validate(value: Any, single: Callable[[Any], Any]) -> Any:
        if not isinstance(value, (list, tuple)):
            return single(value)
        if not value:
            raise refusal("an empty list; give at least one value")
        values = tuple(single(each) for each in value)
        for index, each in enumerate(values):
            if each in values[:index]:
                raise refusal(f"{shown(each)} is listed twice; give each value once")
        return values


Axis = Annotated[T | tuple[T, ...], _Axis()]
"""One value, or a list of values: one run for each."""


def _quantity(parse: Callable[[object], object], least: Callable[[object], str | None]) -> BeforeValidator:
    """Check that a text can be parsed and that `least` returns no problem; keep the text as written."""

    def check(value: object) -> str:
        try:
            problem = least(parse(value))
        except units.UnitError as error:
            raise refusal(str(error)) from None
        text = str(value).strip()
        if problem:
            raise refusal(f"{text}; {problem}")
        return text

    return BeforeValidator(check)


def _any_amount(_amount: object) -> None:
    return None


def _at_most(most: str) -> Callable[[object], str | None]:
    most_ns = units.time(most)
    return lambda amount_ns: (
        f"give at most {most}" if isinstance(amount_ns, int) and amount_ns > most_ns else None
    )


def _more_than_zero(amount: object) -> str | None:
    return None if amount else "give more than 0"


def _less_than_all(fraction: object) -> str | None:
    return "nothing would arrive; give less than 100 %" if fraction == 1 else None


def _whole_milliseconds(offset_ns: object) -> str | None:
    return "give whole milliseconds" if isinstance(offset_ns, int) and offset_ns % 10**6 else None


def _may_be_positive(size: object) -> str | None:
    return None if isinstance(size, Distribution) and size.most() else "give more than 0"


def _room(buffer: object) -> str | None:
    if isinstance(buffer, units.Buffer) and buffer.amount:
        return None
    return (
        "give at least 1"
        if getattr(buffer, "unit", None) == "packets"
        else "give room for at least one packet"
    )


@dataclass(frozen=True)
class InRun:
    """How a value of a unit is written in a run."""

    suffix: str
    """End of the name in a run: an underscore and the unit."""
    value: Callable[[Any], Any]
    """The value in SI units."""

    def of(self, name: str, written: object, _link: object) -> dict[str, Any]:
        """Return the key of the run with its value."""
        return {f"{name}{self.suffix}": self.value(written)}


_TIME_IN_RUN = InRun("_ns", units.time)
_SIZE_IN_RUN = InRun("_bytes", units.size)
_RATE_IN_RUN = InRun("_bit_per_s", units.rate)
_FRACTION_IN_RUN = InRun("", lambda written: float(units.fraction(written)))


def _text_like(example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "examples": [example]})


_LEAST_QUANTUM_BYTES = 256
_MOST_QUANTUM_BYTES = 1 << 20
"""Bounds of a quantum, as in Linux."""


def _fits_as_quantum(size_bytes: object) -> str | None:
    fits = isinstance(size_bytes, int) and _LEAST_QUANTUM_BYTES <= size_bytes <= _MOST_QUANTUM_BYTES
    return None if fits else f"give {_LEAST_QUANTUM_BYTES} B to {_MOST_QUANTUM_BYTES} B"


Rate = Annotated[str, _quantity(units.rate, _more_than_zero), _text_like("100 Mbit/s"), _RATE_IN_RUN]
Time = Annotated[str, _quantity(units.time, _any_amount), _text_like("40 ms"), _TIME_IN_RUN]
Delay = Annotated[str, _quantity(units.time, _at_most("100 s")), _text_like("10 ms"), _TIME_IN_RUN]
RoundTrip = Annotated[str, _quantity(units.time, _at_most("200 s")), _text_like("40 ms"), _TIME_IN_RUN]
PositiveTime = Annotated[str, _quantity(units.time, _more_than_zero), _text_like("60 s"), _TIME_IN_RUN]
Wait = Annotated[str, _quantity(units.time, _any_amount), _text_like("5 ms"), _TIME_IN_RUN]
Interval = Annotated[str, _quantity(units.time, _more_than_zero), _text_like("100 ms"), _TIME_IN_RUN]
ClockOffset = Annotated[
    str,
    _quantity(units.time, _whole_milliseconds),
    _text_like("100 ms"),
    InRun("_ms", lambda written: units.time(written) // 10**6),
]
Size = Annotated[str, _quantity(units.size, _more_than_zero), _text_like("300 kB"), _SIZE_IN_RUN]
_OFF = "off"


def _any_size_or_off(size_bytes: object) -> str | None:
    return None if size_bytes == _OFF else _more_than_zero(size_bytes)


SizeOrOff = Annotated[
    str,
    _quantity(lambda written: written if written == _OFF else units.size(written), _any_size_or_off),
    WithJsonSchema({"type": "string", "examples": ["1 MiB", _OFF]}),
]
"""A limit that may be absent."""
Quantum = Annotated[str, _quantity(units.size, _fits_as_quantum), _text_like("1500 B"), _SIZE_IN_RUN]
Fraction = Annotated[str, _quantity(units.fraction, _less_than_all), _text_like("0.01 %"), _FRACTION_IN_RUN]
Probability = Annotated[str, _quantity(units.fraction, _any_amount), _text_like("2 %"), _FRACTION_IN_RUN]
Weight = Annotated[str, _quantity(units.fraction, _more_than_zero), _text_like("0.2 %"), _FRACTION_IN_RUN]
Buffer = Annotated[str, _quantity(units.buffer, _room), _text_like("1 bdp"), BufferInRun("limit")]
Threshold = Annotated[
    str, _quantity(units.buffer, _any_amount), _text_like("20 packets"), BufferInRun("threshold")
]
AverageQueue = Annotated[
    str, _quantity(units.buffer, _any_amount), _text_like("20 packets"), BufferInRun("packets")
]
"""A length of the queue that an average is compared with: it may be a fraction of a packet."""

RandomTime = Annotated[
    str, _quantity(run_distribution, _any_amount), _text_like(EXAMPLE), InRun("", run_distribution)
]
"""A distribution of times, or one time."""

RandomSize = Annotated[str, _quantity(size_distribution, _may_be_positive), _text_like("300 kB")]
"""A distribution of sizes, or one size."""


@dataclass(frozen=True)
class _Whole:
    """Accept the whole numbers from `least` to `most`."""

    least: int
    most: int

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.check, handler.generate_schema(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(schema), "minimum": self.least, "maximum": self.most}

    def check(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise refusal(f"{shown(value)} is not a whole number; write one, like {max(self.least, 1)}")
        if not self.least <= value <= self.most:
            raise refusal(f"{shown(value)} is out of range; give {self.least} to {self.most}")
        return value


Seed = Annotated[int, _Whole(0, _MOST_I64)]
Repetitions = Annotated[int, _Whole(1, 100_000)]
Count = Annotated[int, _Whole(1, 10_000)]
Queues = Annotated[int, _Whole(1, 65_536)]
Packets = Annotated[int, _Whole(1, 1_000_000)]
Period = Annotated[int, _Whole(2, 1_000_000_000)]
LinkNumber = Annotated[int, _Whole(1, 100)]
Attempts = Annotated[int, _Whole(1, 1000)]
Hz = Annotated[int, _Whole(100, 1000)]
FirstWindow = Annotated[int, _Whole(1, 65_536)]
FirstThreshold = Annotated[int, _Whole(2, 65_536)]
AdvWinScale = Annotated[int, _Whole(-31, 31)]
QueueLength = Annotated[int, _Whole(1, 1_000_000)]
Stations = Annotated[int, _Whole(0, 1000)]
Signal = Annotated[int, _Whole(-100, 0)]
Fading = Annotated[int, _Whole(0, 30)]
ParameterValue = Annotated[int, BeforeValidator(_Whole(-_MOST_I64, _MOST_I64).check)]


def name_of(what: str, known: Callable[[], list[str]]) -> Callable[[object], str]:
    """Return the check of a name; `what` is what it names, with its article."""

    def check(value: object) -> str:
        if not isinstance(value, str):
            raise refusal(
                f"{shown(value)} is not the name of {what}; write one in quotes, like {shown(known()[0])}"
            )
        if value not in known():
            raise refusal(unknown(what.split(maxsplit=1)[1], value, known()))
        return value

    return check


_registered = name_of("an algorithm", algorithm_names)


_SWITCH_WORDS = {"on": True, "off": False, "true": True, "false": False}


def _switch(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _SWITCH_WORDS:
        return _SWITCH_WORDS[value]
    raise refusal(f"{shown(value)}; write true or false")


Switch = Annotated[bool, BeforeValidator(_switch)]
"""A boolean; "on" and "off" are read, too."""


def _one_of(one: str, other: str) -> BeforeValidator:
    def check(value: object) -> str:
        if value not in (one, other):
            raise refusal(f'{shown(value)}; write "{one}" or "{other}"')
        return str(value)

    return BeforeValidator(check)


Place = Annotated[Literal["before", "after"], _one_of("before", "after")]
Direction = Annotated[Literal["forward", "reverse"], _one_of("forward", "reverse")]
Order = Annotated[Literal["kept", "free"], _one_of("kept", "free")]
WhileDown = Annotated[Literal["hold", "drop"], _one_of("hold", "drop")]

_PACKET_RANGE = re.compile(r"\s*([0-9]{1,15})(?:-([0-9]{1,15}))?\s*")
_MOST_LISTED = 100_000


def _packet_list(value: object) -> str:
    example = 'write packets and ranges of them, ascending, like "20, 40-45"'
    if not isinstance(value, str):
        raise refusal(f"{shown(value)}; {example}")
    last, listed = -1, 0
    for part in value.split(","):
        matched = _PACKET_RANGE.fullmatch(part)
        if matched is None or not last < int(matched[1]) <= int(matched[2] or matched[1]):
            raise refusal(f"{shown(value)}; {example}")
        last = int(matched[2] or matched[1])
        listed += last - int(matched[1]) + 1
    if listed > _MOST_LISTED:
        raise refusal(f"{shown(value)} names {listed} packets; name at most {_MOST_LISTED}")
    return ",".join(part.strip() for part in value.split(","))


def packet_numbers(text: str) -> list[int]:
    """Return the numbers that a list names, ascending.

    >>> packet_numbers("3, 7-9")
    [3, 7, 8, 9]
    """
    ranges = [part.partition("-") for part in text.split(",")]
    return [number for first, _, last in ranges for number in range(int(first), int(last or first) + 1)]


PacketList = Annotated[str, BeforeValidator(_packet_list), _text_like("20, 40-45"), InRun("", packet_numbers)]


def _recording(read: Callable[[str], object]) -> Callable[[object], str]:
    """Return a check of the name of a file that `read` reads."""

    def check(value: object) -> str:
        if not isinstance(value, str):
            raise refusal(f"{shown(value)} is not the name of a file; write it in quotes")
        try:
            read(value)
        except RecordingError as error:
            raise refusal(str(error)) from None
        return value

    return check


TraceFile = Annotated[str, BeforeValidator(_recording(read_trace)), _text_like("recorded.trace")]
RttSeriesFile = Annotated[
    str, BeforeValidator(_recording(read_rtt_series)), _text_like("rtt.csv"), InRun("", read_rtt_series)
]


UDP = "udp"
"""The algorithm of a flow without congestion control."""


def _algorithm(value: object) -> str:
    if isinstance(value, str) and (value == UDP or is_own(value)):
        return value
    if isinstance(value, str) and value.endswith(".py"):
        raise refusal(f"{shown(value)} names no class; add the class, like {shown(value + ':Mine')}")
    return _registered(value)


Algorithm = Annotated[
    str,
    BeforeValidator(_algorithm),
    WithJsonSchema({"type": "string", "examples": ["cubic", "mine.py:Mine"]}),
]


def _without_groups(value: object) -> object:
    """Replace groups by their algorithms; values that are not names are refused later."""
    written: list[object] = list(value) if isinstance(value, (list, tuple)) else [value]
    names = [each for each in written if isinstance(each, str)]
    if len(names) < len(written) or not any(name in groups() for name in names):
        return value
    return without_groups(names)


Algorithms = Annotated[Axis[Algorithm], BeforeValidator(_without_groups)]
"""One algorithm or group, or a list of them: one run for each algorithm."""


def _samples(value: object) -> str:
    if value in ("off", "change"):
        return str(value)
    try:
        interval = units.time(value)
    except units.UnitError:
        interval = 0
    if interval == 0:
        raise refusal(f'{shown(value)}; write "off", "change" or an interval like "100 ms"')
    return str(value).strip()


Samples = Annotated[
    str,
    BeforeValidator(_samples),
    WithJsonSchema({"type": "string", "examples": ["100 ms", "change", "off"]}),
]


def _line(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise refusal(f"{shown(value)}; write one line of text in quotes")
    if not value.isprintable():
        raise refusal(f"{shown(value)} has a line break or a control character; write one line of plain text")
    return value.strip()


Line = Annotated[str, BeforeValidator(_line)]


ProfileName = Annotated[str, BeforeValidator(name_of("a profile", lambda: list(profiles())))]

_FLOW_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"


def _flow_name(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(_FLOW_NAME, value):
        raise refusal(
            f"{shown(value)}; write a letter or digit, then up to 63 of "
            "letters, digits, dots, dashes and underscores"
        )
    return value


FlowName = Annotated[
    str, BeforeValidator(_flow_name), Field(json_schema_extra={"pattern": f"^{_FLOW_NAME}$"})
]

_LEAST_SEGMENT_BYTES = 88
"""Linux's TCP_MIN_MSS."""
_MOST_SEGMENT_BYTES = 65535 - 52


def _segment(value: object) -> str:
    try:
        payload_bytes = units.size(value)
    except units.UnitError as error:
        raise refusal(str(error)) from None
    if not _LEAST_SEGMENT_BYTES <= payload_bytes <= _MOST_SEGMENT_BYTES:
        raise refusal(
            f"{value} is not a valid segment size; give {_LEAST_SEGMENT_BYTES} B to {_MOST_SEGMENT_BYTES} B"
        )
    return str(value).strip()


Segment = Annotated[str, BeforeValidator(_segment), _text_like("1448 B")]
