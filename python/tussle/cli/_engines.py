"""Options that choose an engine, and the engine that they choose."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tussle.errors import TussleError, unknown

if TYPE_CHECKING:
    from tussle.engines import Engine

EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="sim|kernel|netns|hosts",
        help="The engine: the simulator (sim), Linux in virtual time (kernel), this host's kernel in "
        "real time, for root (netns), or other machines (hosts).",
    ),
]
KernelName = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="A,B,…",
        help="The kernel, from `tussle list kernels`; several make it an axis. With --machine qemu, an image "
        "such as /boot/vmlinuz-….",
        show_default="$TUSSLE_KERNEL, else linux-6.1",
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
        help="The machines of the engine hosts, and which of them send: a TOML file.",
    ),
]
Modules = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="The modules of the image of --kernel, such as /lib/modules/RELEASE."),
]


class KernelChoice(NamedTuple):
    """The options of the engines that run kernels."""

    machine: str | None = None
    kernel: str | None = None
    """One name or several, with commas between them."""
    modules: Path | None = None
    network: str | None = None
    hosts: Path | None = None


def engine_of(name: str, choice: KernelChoice) -> "Engine":
    """Return the engine of that name, with that kernel."""
    from tussle.engines import engine

    chosen = engine(name)
    given = {option: value for option, value in choice._asdict().items() if value is not None}
    if name == "hosts" and given.keys() <= {"hosts"}:
        from tussle.engines.hosts import HostsEngine

        machines = HostsEngine(choice.hosts)
        machines.hosts()
        return machines
    if not given:
        return chosen
    from tussle.engines.kernel import KernelEngine
    from tussle.engines.netns import NamespacesEngine

    if choice.hosts:
        raise TussleError(
            "--hosts is only for the engine hosts; add --engine hosts, and leave out the options of a kernel"
        )
    if name == NamespacesEngine.name and list(given) == ["network"]:
        return NamespacesEngine(_network(choice))
    if name != KernelEngine.name:
        raise TussleError(f"--{next(iter(given))}: the engine {name} has no kernel; add --engine kernel")
    if choice.machine not in (None, "uml", "qemu"):
        raise TussleError(f"--machine: {unknown('machine', choice.machine, ['uml', 'qemu'])}")
    network = _network(choice)
    if choice.machine != "qemu":
        if choice.modules:
            raise TussleError("--modules: kernels that Tussle built have none; add --machine qemu")
        return _user_mode(choice.kernel, network)
    if choice.kernel and "," in choice.kernel and not Path(choice.kernel).exists():
        raise TussleError(
            f"--kernel {choice.kernel}: --machine qemu runs one kernel; give one, or leave out --machine"
        )
    if not choice.kernel or not choice.modules:
        raise TussleError(
            "--machine qemu: give --kernel IMAGE and --modules DIR, like /boot/vmlinuz-… and /lib/modules/…"
        )
    from tussle.kernel.distribution import DistributionKernel
    from tussle.kernel.qemu import Emulated

    emulated = Emulated(DistributionKernel(Path(choice.kernel).absolute(), choice.modules.absolute()))
    return KernelEngine(emulated, network)


def engines_of(name: str, choice: KernelChoice) -> "dict[str, Engine]":
    """Return the engine by its name; if there are several kernels, one engine for each by `kernel-NAME`."""
    from tussle.engines import Variants

    chosen = engine_of(name, choice)
    if not isinstance(chosen, Variants):
        return {name: chosen}
    return {f"{name}-{value}": each for value, each in chosen.engines.items()}


def _kernels(written: str | None) -> list[str | None]:
    """Return the kernels that `--kernel` names; `None` stands for the usual one.

    Raises TussleError, if there are several, when one is named twice or is not built.
    """
    if written is None or "," not in written:
        return [written]
    from tussle.kernel import built_kernel

    names = [name.strip() for name in written.split(",") if name.strip()]
    if not names:
        raise TussleError("--kernel names no kernel; `tussle list kernels` shows the built ones")
    for name in names:
        if names.count(name) > 1:
            raise TussleError(f"--kernel: {name} is named twice; give each kernel once")
        try:
            built_kernel(name)
        except TussleError as error:
            raise TussleError(f"--kernel: {error}") from error
    return [*names]


def _user_mode(written: str | None, network: str) -> "Engine":
    """Return the engine of one kernel, or of several as variants."""
    from tussle.dataset import KERNEL_AXIS
    from tussle.engines import Variants
    from tussle.engines.kernel import KernelEngine
    from tussle.kernel.guest import UserMode

    engines = {name: KernelEngine(UserMode(name), network) for name in _kernels(written)}
    if len(engines) == 1:
        return next(iter(engines.values()))
    return Variants(KERNEL_AXIS, {str(name): engine for name, engine in engines.items()})


def _network(choice: KernelChoice) -> str:
    from tussle.kernel.guest import NETWORKS

    network = choice.network or NETWORKS[0]
    if network not in NETWORKS:
        raise TussleError(f"--network: {unknown('network', network, NETWORKS)}")
    return network
