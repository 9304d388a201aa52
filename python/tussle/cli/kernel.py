"""`tussle kernel`: the Linux kernels that the kernel engine runs."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tussle.cli._help import Command, Group
from tussle.cli._terminal import INTERRUPTED, complain, progress_console
from tussle.errors import TussleError
from tussle.kernel import USUAL_HZ, built_kernel, remove_kernel

if TYPE_CHECKING:
    from tussle.kernel.build import Request

app = typer.Typer(cls=Group, help="The Linux kernels that `--engine kernel` runs.", no_args_is_help=True)


@app.command(cls=Command)
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
            metavar="NAME", help="What `--kernel` is to call it.", show_default="as the source is called"
        ),
    ] = None,
    hz: Annotated[
        int, typer.Option(metavar="N", min=100, max=1000, help="Timer ticks a second, 100 to 1000.")
    ] = USUAL_HZ,
    offered: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Build every kernel of which this machine has, or apt offers, a package linux-source-….",
        ),
    ] = False,
) -> None:
    """Build a user-mode kernel into the cache: about 3 minutes the first time, 1.7 GB of disk.

    The cache is $TUSSLE_CACHE, else the user's. Sources and objects stay there, so that a changed source
    takes seconds. A second call does nothing.
    """
    from tussle.kernel.build import Request

    requests = [Request(name=name, hz=hz) if source is None else Request(source, name, hz)]
    if offered:
        if source or name:
            raise TussleError("--all builds the packages that there are; leave out --source and --name")
        requests = [Request(Path(package), hz=hz) for package in _offered()]
    try:
        for request in requests:
            _build(request)
    except KeyboardInterrupt:
        complain("interrupted; the same command goes on where this one stopped")
        raise typer.Exit(INTERRUPTED) from None


def _offered() -> list[str]:
    from tussle.kernel.debian import offered_packages

    if packages := offered_packages():
        return packages
    raise TussleError(
        "--all: there is no package linux-source-… here, and apt offers none; `apt-get update` fetches the "
        "lists on Debian and its derivatives, elsewhere give --source"
    )


def _build(request: "Request") -> None:
    from tussle.kernel.build import made
    from tussle.kernel.progress import BuildBar

    with BuildBar(progress_console()) as bar:
        outcome = made(request, bar)
    kernel = outcome.kernel
    state = "was built already" if outcome.was_there else "is built"
    typer.echo(f"{kernel.name} {state}: {kernel.about}")
    typer.echo(f"  {kernel.image}")
    if kernel.facts["lacks"]:
        typer.echo(f"  its source lacks {kernel.facts['lacks']}: runs that need one will be refused")


@app.command(cls=Command)
def remove(name: Annotated[str, typer.Argument(metavar="NAME", help="From `tussle list kernels`.")]) -> None:
    """Remove a kernel from the cache."""
    remove_kernel(name)


@app.command(cls=Command)
def check(
    *,
    kernel: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="From `tussle list kernels`.", show_default="$TUSSLE_KERNEL, else linux-6.1"
        ),
    ] = None,
) -> None:
    """Boot a kernel and run a flow of one second on it: version, algorithms, queues, speed."""
    engine = import_module("tussle.engines.kernel")
    for what, value in engine.check_kernel(built_kernel(kernel)).items():
        typer.echo(f"{what}: {value}")
