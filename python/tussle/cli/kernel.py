"""`tussle kernel`: the Linux kernels that the kernel engine runs."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tussle.cli._engines import OneKernel
from tussle.cli._help import Command, Group, with_output_options
from tussle.cli._terminal import INTERRUPTED, complain, progress_console, say
from tussle.errors import TussleError
from tussle.kernel import DEFAULT_HZ, built_kernel, remove_kernel

if TYPE_CHECKING:
    from tussle.kernel.build import BuildRequest

app = typer.Typer(
    cls=Group,
    help="Build, remove and check the Linux kernels that `--engine kernel` runs.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command(cls=Command)
@with_output_options
def build(
    *,
    source: Annotated[
        Path | None,
        typer.Option(
            metavar="SOURCE",
            help="Linux's source: a Debian package such as linux-source-6.12, a folder such as one with your "
            "patch, or a tarball. The source is only read.",
            show_default="linux-source-6.1",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of the kernel, for `--kernel`.",
            show_default="the source's name, and -100hz with --hz 100",
        ),
    ] = None,
    hz: Annotated[
        int, typer.Option(metavar="N", min=100, max=1000, help="Timer ticks a second, 100 to 1000.")
    ] = DEFAULT_HZ,
    offered: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Build a kernel from every package linux-source-… that is installed or that apt offers.",
        ),
    ] = False,
) -> None:
    """Build a user-mode kernel into the cache: about 3 minutes the first time, 1.7 GB of disk.

    The cache is $TUSSLE_CACHE, else the user's. Sources and objects stay there, so that a changed source is
    built in seconds. If nothing changed, the command does nothing.
    """
    from tussle.kernel.build import BuildRequest

    requests = [BuildRequest(name=name, hz=hz) if source is None else BuildRequest(source, name, hz)]
    if offered:
        if source or name:
            raise TussleError("--all builds every available package; leave out --source and --name")
        requests = [BuildRequest(Path(package), hz=hz) for package in _offered()]
    try:
        for request in requests:
            _build(request)
    except KeyboardInterrupt:
        complain("interrupted; repeat the same command to go on")
        raise typer.Exit(INTERRUPTED) from None


def _offered() -> list[str]:
    from tussle.kernel.debian import offered_packages

    if packages := offered_packages():
        return packages
    raise TussleError(
        "--all: no package linux-source-… is installed, and apt offers none; run `apt-get update` on Debian "
        "and its derivatives, elsewhere give --source"
    )


def _build(request: "BuildRequest") -> None:
    from tussle.kernel.build import build_kernel
    from tussle.kernel.progress import BuildBar

    with BuildBar(progress_console()) as bar:
        outcome = build_kernel(request, bar)
    kernel = outcome.kernel
    state = "was built already" if outcome.already_built else "is built"
    say(f"{kernel.name} {state}: {kernel.about}")
    say(f"  {kernel.image}")
    if kernel.facts["lacks"]:
        say(f"  the source lacks {kernel.facts['lacks']}: runs that need one of these are refused")


@app.command(cls=Command)
@with_output_options
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The kernel, from `tussle list kernels`.")],
) -> None:
    """Remove a kernel from the cache."""
    remove_kernel(name)


@app.command(cls=Command)
@with_output_options
def check(
    *,
    kernel: OneKernel = None,
) -> None:
    """Boot a kernel, run a flow of one second on it, and show version, algorithms, queues and speed."""
    engine = import_module("tussle.engines.kernel")
    for what, value in engine.check_kernel(built_kernel(kernel)).items():
        say(f"{what}: {value}")
