"""The engine of an experiment, by its name and the options of kernels and hosts."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tussle.errors import TussleError, argument, unknown

if TYPE_CHECKING:
    from tussle.engines import Engine


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
            f"{argument('hosts')} is only for the engine hosts; add {argument('engine', 'hosts')}, and leave "
            "out what chooses a kernel"
        )
    if name == NamespacesEngine.name and list(given) == ["network"]:
        return NamespacesEngine(_network(choice))
    if name != KernelEngine.name:
        raise TussleError(
            f"{argument(next(iter(given)))}: the engine {name} has no kernel; "
            f"add {argument('engine', 'kernel')}"
        )
    if choice.machine not in (None, "uml", "qemu"):
        raise TussleError(f"{argument('machine')}: {unknown('machine', choice.machine, ['uml', 'qemu'])}")
    network = _network(choice)
    if choice.machine != "qemu":
        if choice.modules:
            raise TussleError(
                f"{argument('modules')}: kernels that Tussle built have none; add "
                f"{argument('machine', 'qemu')}"
            )
        return _user_mode(choice.kernel, network)
    if choice.kernel and "," in choice.kernel and not Path(choice.kernel).exists():
        raise TussleError(
            f"{argument('kernel', choice.kernel)}: {argument('machine', 'qemu')} runs one kernel; give one, "
            f"or leave out {argument('machine')}"
        )
    if not choice.kernel or not choice.modules:
        raise TussleError(
            f"{argument('machine', 'qemu')}: give {argument('kernel')} and {argument('modules')}, an image "
            "and a folder like /boot/vmlinuz-… and /lib/modules/…"
        )
    from tussle.kernel.distribution import DistributionKernel
    from tussle.kernel.qemu import Emulated

    emulated = Emulated(DistributionKernel(Path(choice.kernel).absolute(), choice.modules.absolute()))
    return KernelEngine(emulated, network)


def engines_of(name: str, choice: KernelChoice) -> "dict[str, Engine]":
    """Return the engine by its name; if kernels are named, one engine for each by `kernel-NAME`."""
    from tussle.engines import Variants

    chosen = engine_of(name, choice)
    if isinstance(chosen, Variants):
        return {f"{name}-{value}": each for value, each in chosen.engines.items()}
    return {f"{name}-{choice.kernel}" if choice.kernel else name: chosen}


def one_engine_of(name: str, choice: KernelChoice) -> "Engine":
    """Return the engine of that name; raises TussleError when several kernels are chosen."""
    found = engines_of(name, choice)
    if len(found) > 1:
        raise TussleError(f"--kernel {choice.kernel}: this command runs one kernel; give one")
    return next(iter(found.values()))


def _kernels(written: str | None) -> list[str | None]:
    """Return the kernels that `kernel` names; `None` stands for the usual one.

    Raises TussleError, if there are several, when one is named twice or is not built.
    """
    if written is None or "," not in written:
        return [written]
    from tussle.kernel import built_kernel

    names = [name.strip() for name in written.split(",") if name.strip()]
    if not names:
        raise TussleError(f"{argument('kernel')} names no kernel; `tussle list kernels` shows the built ones")
    for name in names:
        if names.count(name) > 1:
            raise TussleError(f"{argument('kernel')}: {name} is named twice; give each kernel once")
        try:
            built_kernel(name)
        except TussleError as error:
            raise TussleError(f"{argument('kernel')}: {error}") from error
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
        raise TussleError(f"{argument('network')}: {unknown('network', network, NETWORKS)}")
    return network
