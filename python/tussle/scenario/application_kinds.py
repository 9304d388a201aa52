"""The settings of each application. The order of the fields is the order of the axes."""

from typing import Annotated, Any, Literal

from tussle.scenario.fields import Axis, RandomTime, Rate, Size
from tussle.scenario.kinds import Kinds, KindTable, NameInRun, needed


class Application(KindTable):
    """The write pattern of an application that is not a bulk sender. The first write is at the flow's start.

    Applications write whole segments: the size of a chunk or of a response is rounded up. Each kind of
    application takes its own settings.
    """

    kind: Any
    """The write pattern. In a list of kinds, each takes its own settings."""


class ConstantRate(Application):
    """Writes one segment at a time, at a constant rate."""

    kind: Literal["rate"]
    rate: Axis[Rate] | None = needed("5 Mbit/s")
    """The payload per second."""


class OnOff(Application):
    """Writes at a constant rate in on times, and nothing in the off times between them."""

    kind: Literal["on_off"]
    rate: Axis[Rate] | None = needed("5 Mbit/s")
    """The payload per second of an on time."""
    on: Axis[RandomTime] | None = needed("exponential(1 s)")
    """The distribution of the length of each on time, written like the delay of an element."""
    off: Axis[RandomTime] | None = needed("exponential(1 s)")
    """The distribution of the length of each off time."""


class Chunks(Application):
    """Writes a chunk at a time, as a player of recorded video fetches them."""

    kind: Literal["chunks"]
    size: Annotated[Axis[Size] | None, NameInRun("chunk")] = needed("2 MB")
    """The size of a chunk."""
    every: Axis[RandomTime] | None = needed("4 s")
    """The distribution of the time from one chunk to the next; "exponential(10 ms)" is a Poisson process."""


class Requests(Application):
    """Writes a response to each request, which comes some time after the last response was acknowledged."""

    kind: Literal["requests"]
    size: Annotated[Axis[Size] | None, NameInRun("response")] = needed("100 kB")
    """The size of a response."""
    think: Axis[RandomTime] | None = needed("exponential(1 s)")
    """The distribution of the time from the last acknowledgement of a response to the next response."""


APPLICATIONS = Kinds(Application, "an application")
AnyApplication = APPLICATIONS.mixed
ApplicationTable = Annotated[Application, APPLICATIONS]
