"""Options that choose an engine."""

from pathlib import Path
from typing import Annotated

import typer

from tussle.experiment import KernelChoice, engine_of, engines_of, one_engine_of

__all__ = [
    "EngineName",
    "HostsFile",
    "KernelChoice",
    "KernelName",
    "KernelNames",
    "MachineName",
    "Modules",
    "NetworkName",
    "OneKernel",
    "engine_of",
    "engines_of",
    "one_engine_of",
]

EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="sim|kernel|netns|hosts",
        help="The engine: the simulator (sim), Linux in virtual time (kernel), this host's kernel in "
        "real time, for root (netns), or other machines (hosts).",
    ),
]
_DEFAULT_KERNEL = "$TUSSLE_KERNEL, else linux-6.1"
KernelName = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="A,B,…",
        help="The kernel, from `tussle list kernels`; several make it an axis. With --machine qemu, an image "
        "such as /boot/vmlinuz-….",
        show_default=_DEFAULT_KERNEL,
    ),
]
KernelNames = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="A,B,…",
        help="The kernel, from `tussle list kernels`, or several; the results of each named kernel have a "
        "folder of their own.",
        show_default=_DEFAULT_KERNEL,
    ),
]
OneKernel = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="NAME",
        help="The kernel, from `tussle list kernels`.",
        show_default=_DEFAULT_KERNEL,
    ),
]
MachineName = Annotated[
    str | None,
    typer.Option(
        "--machine",
        metavar="uml|qemu",
        help="The kernel's machine: user-mode Linux for kernels that Tussle built (uml), QEMU for kernels of "
        "a distribution (qemu).",
        show_default="uml",
    ),
]
NetworkName = Annotated[
    str | None,
    typer.Option(
        "--network",
        metavar="auto|driver|mixed|qdisc|tun",
        help="The emulated path: the simulator's elements inside the kernel (driver) or between TUN devices "
        "(tun), the kernel's queue disciplines (qdisc), or elements between TUN devices only where Linux has "
        "no discipline (mixed). auto is driver on kernels that Tussle built, and mixed on others.",
        show_default="auto",
    ),
]
HostsFile = Annotated[
    Path | None,
    typer.Option(
        "--hosts",
        metavar="FILE",
        help="The machines of the engine `hosts`, and which of them send: a TOML file.",
    ),
]
Modules = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="The modules of the image of --kernel, such as /lib/modules/RELEASE."),
]
