"""Build of a kernel: its source is copied into the tree and configured, compiled, and stored in the cache."""

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from tussle.errors import TussleError, shown
from tussle.kernel import (
    CONFIGURATION,
    DEFAULT_HZ,
    FACTS,
    IMAGE,
    Kernel,
    built_kernel,
    cache_folder,
    folder_of,
    kernel_names,
    name_with_hz,
)
from tussle.kernel.configuration import Recipe
from tussle.kernel.debian import DEFAULT_PACKAGE, debian_source, is_package
from tussle.kernel.driver import FACT, PATCH, driver
from tussle.kernel.make import Make, refuse_missing_tools
from tussle.kernel.patches import PatchedSource, patches
from tussle.kernel.progress import BuildProgress
from tussle.kernel.source import given_source, kernel_name
from tussle.kernel.tree import Tree

_NAME = re.compile(r"[\w.][\w.+-]*")
_NEEDED_BYTES = 1_000_000_000
"""Disk space for the sources (0.5 GB) and the objects."""


@dataclass(frozen=True)
class BuildRequest:
    """A kernel to build."""

    source: Path = Path(DEFAULT_PACKAGE)
    """A folder, a tarball, or the name of a Debian package: `linux-source-6.12`."""
    name: str | None = None
    hz: int = DEFAULT_HZ


@dataclass(frozen=True)
class BuildResult:
    """A kernel in the cache, and whether it was there before."""

    kernel: Kernel
    already_built: bool


def build_kernel(request: BuildRequest, progress: BuildProgress) -> BuildResult:
    """Build a kernel unless it is built already; raises TussleError when that fails.

    An interrupted build continues the next time. One build runs at a time, and others wait for it.
    """
    package = str(request.source)
    source = None if is_package(package) and not request.source.exists() else given_source(request.source)
    name = request.name or name_with_hz(source.short_name if source else kernel_name(package), request.hz)
    if not _NAME.fullmatch(name):
        raise TussleError(f"a kernel cannot be named {shown(name)}; give letters and digits: --name patched")
    if name not in kernel_names():
        refuse_missing_tools()  # before anything is fetched
    cache = _cache()
    progress.begin("waiting for another build")
    with FileLock(cache / "lock"):
        progress.begin("source")
        source = source or debian_source(package, cache / "downloads")
        recipe = Recipe(request.hz)
        added = driver()
        origin = {
            "source": source.name,
            "source_sha256": source.digest(),
            "hz": str(request.hz),
            "recipe_sha256": recipe.digest(),
            FACT: added.digest(),
        }
        built = _built_from(name, origin)
        if not built:
            tree, found = _compiled(PatchedSource(source, patches(), added.files()), recipe, progress)
            _keep(tree, folder_of(name), origin | found)
    return BuildResult(built or built_kernel(name), already_built=built is not None)


def _cache() -> Path:
    folder = cache_folder()
    if re.search(r"[\s:]", str(folder)):
        raise TussleError(
            f"Linux cannot be built in {folder}: its makefile refuses spaces and colons; set TUSSLE_CACHE to "
            "another folder"
        )
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _built_from(name: str, origin: Mapping[str, str]) -> Kernel | None:
    """Return the kernel with a name if it was built from the same content."""
    try:
        kernel = built_kernel(name)
    except TussleError:
        return None
    same = all(kernel.facts.get(fact) == value for fact, value in origin.items() if fact != "source")
    return kernel if same else None


def _compiled(source: PatchedSource, recipe: Recipe, progress: BuildProgress) -> tuple[Path, dict[str, str]]:
    """Return the tree with the kernel in it, and the facts of its configuration."""
    refuse_missing_tools()
    tree = Tree(cache_folder() / "tree")
    free = shutil.disk_usage(cache_folder()).free
    if not tree.is_compiled and free < _NEEDED_BYTES:
        raise TussleError(
            f"building a kernel takes {_NEEDED_BYTES / 1e9:.1f} GB in {cache_folder()}, where "
            f"{free / 1e9:.1f} GB are free; make room there, or set TUSSLE_CACHE to another folder"
        )
    progress.begin("source")
    tree.update_to(source, progress.reach)
    if PATCH not in (patch.name for patch in source.applied):
        raise TussleError(
            f"{source.name} cannot take Tussle's driver: its drivers/net/Makefile has no line for veth.o; "
            "undo what was changed there, or take Linux 6.1 or newer"
        )
    applied = {f"{patch.name}_patch_sha256": patch.digest for patch in source.applied}
    recipe.write(tree.folder)
    log = cache_folder() / "build.log"
    log.unlink(missing_ok=True)
    make = Make(tree.folder, log, progress)
    progress.begin("configuration")
    make.configure()
    lacks = recipe.lacks(tree.folder)
    progress.begin("kernel")
    make.compile()
    return tree.folder, applied | {"lacks": " ".join(lacks)}


def _keep(tree: Path, folder: Path, origin: Mapping[str, str]) -> None:
    """Copy the kernel out of its tree; its facts are written last."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FACTS).unlink(missing_ok=True)
    for name, product in ((IMAGE, IMAGE), (CONFIGURATION, ".config")):
        # Guests that run the old image keep it, since the new one replaces it by a rename.
        unfinished = folder / f"{name}.part"
        shutil.copy(tree / product, unfinished)
        unfinished.replace(folder / name)
    configuration = (folder / CONFIGURATION).read_text("utf-8")
    [compiler] = re.findall(r'^CONFIG_CC_VERSION_TEXT="(.*)"$', configuration, re.MULTILINE)
    facts = {
        "release": (tree / "include/config/kernel.release").read_text("utf-8").strip(),
        **origin,
        "config_sha256": hashlib.sha256(configuration.encode()).hexdigest(),
        "image_sha256": hashlib.sha256((folder / IMAGE).read_bytes()).hexdigest(),
        "compiler": compiler,
    }
    unfinished = folder / f"{FACTS}.part"
    unfinished.write_text(json.dumps(facts, indent=2) + "\n", "utf-8")
    unfinished.replace(folder / FACTS)
