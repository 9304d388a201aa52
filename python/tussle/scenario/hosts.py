"""The table `[hosts]`: settings of the hosts' TCP, whose defaults are those of a Linux host."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from tussle.errors import nearest, shown
from tussle.scenario.fields import Axis, refusal
from tussle.scenario.table import Table


def _one_of(*names: str) -> BeforeValidator:
    """Refuse what is none of the names, with the nearest one and all that there are."""
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
    """What the timestamps of packets count from: a "random" offset of each end of each connection, as
    everywhere in Linux (`net.ipv4.tcp_timestamps = 1`), or the same instant on all hosts ("synchronised":
    `net.ipv4.tcp_timestamps = 2` on hosts that booted together). Of the algorithms only lp does something
    else for it: with a random offset it is Reno."""

    def of_run(self) -> dict[str, Any]:
        """Return what a run says of its hosts; there are no axes left."""
        return {"timestamps": self.timestamps}
