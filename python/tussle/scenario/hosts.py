"""The table `[hosts]`: settings of the hosts' TCP, with the defaults of a Linux host."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from tussle.errors import nearest, shown
from tussle.scenario.fields import Axis, refusal
from tussle.scenario.table import Table


def _one_of(*names: str) -> BeforeValidator:
    """Refuse a value that is not one of the names; the message has the nearest one and all of them."""
    all_of_them = " or ".join(f'"{name}"' for name in names)

    def check(value: object) -> str:
        if isinstance(value, str) and value in names:
            return value
        best = nearest(value, names) if isinstance(value, str) else None
        meant = f'did you mean "{best}"? ' if best else ""
        raise refusal(f"{shown(value)}; {meant}give {all_of_them}")

    return BeforeValidator(check)


Timestamps = Annotated[Literal["random", "synchronised"], _one_of("random", "synchronised")]


class Hosts(Table):
    """Settings of the TCP of all hosts. Defaults are those of a Linux host."""

    timestamps: Axis[Timestamps] = "random"
    """The origin of TCP timestamps: a "random" offset of each end of each connection, as by default in Linux
    (`net.ipv4.tcp_timestamps = 1`), or the same instant on all hosts ("synchronised", as
    `net.ipv4.tcp_timestamps = 2` on hosts that booted together). Only the algorithm lp depends on it: with a
    random offset it behaves like Reno."""

    def of_run(self) -> dict[str, Any]:
        """Return the hosts of a run, without axes."""
        return {"timestamps": self.timestamps}
