"""`tussle kernel`: the Linux kernels that the kernel engine runs."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from tussle.cli.terminal import complain, progress_console
from tussle.kernel import USUAL_HZ, built_kernel, remove_kernel

_INTERRUPTED = 130
"""Exit status: 128 + SIGINT, as shells have it."""

app = typer.Typer(help="The Linux kernels that `--engine kernel` runs.", no_args_is_help=True)


@app.command()
def build(
    *,
    source: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="A folder with Linux's source, such as one with your patch, or a tarball; it is only read.",
            show_default="Debian's package linux-source-6.1",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What `--kernel` is to call it.", show_default="as the source is called"
        ),
    ] = None,
    hz: Annotated[int, typer.Option(min=100, max=1000, help="Timer ticks a second.")] = USUAL_HZ,
) -> None:
    """Build a user-mode kernel into the cache: about 3 minutes the first time, 1.7 GB of disk.

    The cache is $TUSSLE_CACHE, else the user's. Sources and objects stay there, so that a changed source
    takes seconds. A second call does nothing.
    """
    try:
        from tussle.kernel.build import Request, made
        from tussle.kernel.progress import BuildBar

        with BuildBar(progress_console()) as bar:
            outcome = made(Request(source, name, hz), bar)
    except KeyboardInterrupt:
        complain("interrupted; the same command goes on where this one stopped")
        raise typer.Exit(_INTERRUPTED) from None
    kernel = outcome.kernel
    state = "was built already" if outcome.was_there else "is built"
    typer.echo(f"{kernel.name} {state}: {kernel.about}")
    typer.echo(f"  {kernel.image}")
    if kernel.facts["lacks"]:
        typer.echo(f"  its source lacks {kernel.facts['lacks']}: runs that need one will be refused")


@app.command()
def remove(name: Annotated[str, typer.Argument(metavar="NAME", help="From `tussle list kernels`.")]) -> None:
    """Remove a kernel from the cache."""
    remove_kernel(name)


@app.command()
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
