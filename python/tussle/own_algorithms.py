"""Users' own algorithms: loading of a class such as `mine.py:Mine` and its object for a flow.

The file is executed again for each run. A run thus cannot change the next one through the file, and results
do not depend on the process that executes a run.
"""

import hashlib
import inspect
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple, NoReturn

from tussle.algorithm import Algorithm
from tussle.catalog import catalog
from tussle.errors import TussleError, plain, shown, unknown

_REFERENCE = re.compile(r"(?P<file>.+\.py):(?P<class_name>[^\W\d]\w*)")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
_ARGUMENTS = {
    name: list(inspect.signature(hook).parameters)[1:]
    for name, hook in vars(Algorithm).items()
    if inspect.isfunction(hook)
}
"""The arguments of each hook after `self`."""
_ENDS_OF_PROCESS: Mapping[str, Callable[..., NoReturn]] = {
    name: vars(os)[name] for name in ("_exit", "execv", "execve")
}
"""The functions of `os` that return to nobody; the others of their kind call these."""


class Reference(NamedTuple):
    """A class in a file."""

    file: Path
    class_name: str

    @classmethod
    def parse(cls, written: str) -> "Reference | None":
        """Return the file and class of a name such as `mine.py:Mine`; None if it is another name."""
        match = _REFERENCE.fullmatch(written)
        return cls(Path(match["file"]), match["class_name"]) if match else None

    def beside(self, folder: Path) -> "Reference":
        """Return the reference to the file in `folder`, if it exists; else this reference."""
        found = folder / self.file
        return Reference(found, self.class_name) if is_plain_file(found) else self

    def __str__(self) -> str:
        return f"{self.file}:{self.class_name}"


@dataclass(frozen=True)
class Loaded:
    """The algorithm of a flow, as the bridge to the simulator needs it."""

    name: str
    """Name in tables."""
    hooks: Mapping[str, Callable[..., object]]
    """Methods by the name of the hook; missing hooks are Reno's."""
    recovery: str
    ecn: str
    pacing: bool


def is_own(algorithm: str) -> bool:
    """Return whether the name refers to a class in a Python file."""
    return Reference.parse(algorithm) is not None


def files_sha256(algorithms: Iterable[str]) -> dict[str, str]:
    """Return the digest of each Python file of the algorithms; raise TussleError if a file cannot be read.

    Files that it imports are not part of the digest.
    """
    references = filter(None, map(Reference.parse, algorithms))
    return {
        str(reference.file): hashlib.sha256(_source(reference)).hexdigest()
        for reference in sorted(set(references))
    }


def load(run: Mapping[str, Any]) -> dict[str, Loaded]:
    """Return the loaded algorithm of each flow that uses one of the user's own, by the name of the flow.

    Raises TussleError, with the traceback if the file has an error.
    """
    modules: dict[Path, ModuleType] = {}
    loaded: dict[str, Loaded] = {}
    written: dict[str, str] = {}
    for flow in run["flows"]:
        reference = Reference.parse(flow["algorithm"])
        if reference is None:
            continue
        if reference.file not in modules:
            modules[reference.file] = _module(reference)
        with _errors_of(f"algorithm {reference}: reading the class"):
            one = _made(reference, _class(reference, modules[reference.file]), flow["parameters"])
        other = written.setdefault(one.name, str(reference))
        if other != str(reference):
            raise TussleError(
                f"{other} and {reference} are both called {one.name}; give one of them another `name`"
            )
        loaded[flow["name"]] = one
    return loaded


def is_plain_file(path: Path) -> bool:
    """Return whether the path names an existing regular file; False for a name that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _source(reference: Reference) -> bytes:
    try:
        if is_plain_file(reference.file):
            return reference.file.read_bytes()
        reason = "there is no such file"
    except OSError as error:
        reason = error.strerror
    raise TussleError(
        f"algorithm {plain(str(reference))}: {reason}; Tussle looks for the file beside the scenario, then "
        "in the current folder"
    )


@lru_cache(maxsize=64)
def _code(source: bytes, file: str) -> CodeType:
    return compile(source, file, "exec", dont_inherit=True)


def _module(reference: Reference) -> ModuleType:
    """Execute the file."""
    source = _source(reference)
    module = ModuleType(str(reference.file))  # not a name that an import could use
    module.__file__ = str(reference.file)
    with _imports_beside(reference.file), _errors_of(f"algorithm {reference}: loading it"):
        # Dataclasses look up the module of their class.
        sys.modules[module.__name__] = module
        exec(_code(source, str(reference.file)), vars(module))  # noqa: S102 (users execute their own file)
    return module


@contextmanager
def _imports_beside(file: Path) -> Iterator[None]:
    """Let the file import modules of its own folder, as `python FILE` does."""
    folder = str(file.parent.absolute())
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


@contextmanager
def _errors_of(what: str) -> Iterator[None]:
    """Turn an exception of the user's code into a TussleError with its traceback."""
    try:
        yield
    except (KeyboardInterrupt, TussleError):
        raise
    except SystemExit as error:
        sentence = f"{what} called exit(); it must not end the process"
        raise TussleError(sentence, user_traceback(error)) from error
    except BaseException as error:
        details = user_traceback(error)
        raise TussleError(f"{what} raised {_described(error)}", details) from error


@contextmanager
def process_must_live() -> Iterator[None]:
    """Let the functions of `os` that end or replace the process raise an error in this thread.

    With them a user's code could end a command with success and without a result. Other threads, and
    processes that the user's code forks, still end.
    """
    here = (os.getpid(), threading.get_ident())

    def guarded(name: str, function: Callable[..., NoReturn]) -> Callable[..., NoReturn]:
        def refuse(*arguments: Any, **keywords: Any) -> NoReturn:
            if (os.getpid(), threading.get_ident()) != here:
                function(*arguments, **keywords)
            if name == "_exit":
                raise SystemExit(*arguments, **keywords)
            raise RuntimeError("an algorithm must not replace the process; start a program with subprocess")

        return refuse

    for name, function in _ENDS_OF_PROCESS.items():
        setattr(os, name, guarded(name, function))
    try:
        yield
    finally:
        for name, function in _ENDS_OF_PROCESS.items():
            setattr(os, name, function)


def _described(error: BaseException) -> str:
    kind = type(error).__name__
    try:
        message = str(error)
    except BaseException:  # the user's own class
        return kind
    return f"{kind}: {message}" if message else kind


def user_traceback(error: BaseException) -> str:
    """Return the traceback of an exception, from the first frame of the user's code."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))


def _class(reference: Reference, module: ModuleType) -> type:
    found = vars(module).get(reference.class_name)
    if isinstance(found, type):
        return found
    if found is not None:
        kind = type(found).__name__
        raise TussleError(f"algorithm {reference}: {reference.class_name} is a {kind}; name a class")
    classes = [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    ]
    if not classes:
        raise TussleError(f"algorithm {reference}: {reference.file} defines no class; write one")
    raise TussleError(f"algorithm {reference}: {unknown('class', reference.class_name, classes)}")


def _made(reference: Reference, cls: type, parameters: Mapping[str, int]) -> Loaded:
    """Check the class and make the object for a flow."""
    name = _name(reference, cls)
    defined = _defined(reference, cls)
    try:
        inspect.signature(cls).bind(**parameters)
    except TypeError as error:
        given = ", ".join(f"{key} = {value}" for key, value in parameters.items()) or "without parameters"
        raise TussleError(f"algorithm {reference} cannot be made with {given}: {error}") from None
    with _errors_of(f"algorithm {reference}: making it"):
        made = cls(**parameters)
    hooks = {hook: getattr(made, hook) for hook in defined}
    for hook, method in hooks.items():
        _check_arguments(f"algorithm {reference}: {hook}", method, _ARGUMENTS[hook])
    recovery, ecn = (str(getattr(cls, need, getattr(Algorithm, need))) for need in ("recovery", "ecn"))
    return Loaded(name, hooks, recovery, ecn, _pacing(reference, cls))


def _pacing(reference: Reference, cls: type) -> bool:
    given = getattr(cls, "pacing", Algorithm.pacing)
    if not isinstance(given, bool):
        raise TussleError(f"algorithm {reference}: its `pacing` is {shown(given)}; give True or False")
    return given


def _name(reference: Reference, cls: type) -> str:
    given = getattr(cls, "name", None)
    if given is None:
        return f"{reference.file.name}:{reference.class_name}"
    if not isinstance(given, str) or not _NAME.fullmatch(given):
        raise TussleError(
            f"algorithm {reference}: its `name` is {shown(given)}; give up to 64 letters, digits, dots, "
            "colons, dashes and underscores"
        )
    if given in catalog().algorithms:
        raise TussleError(f"algorithm {reference}: its `name` is {given}, which is an algorithm of Tussle")
    return given


def _defined(reference: Reference, cls: type) -> list[str]:
    """Return the hooks that the class defines; refuse a method named like a hook that no sender calls."""
    for attribute in dir(cls):
        if attribute.startswith("on_") and attribute not in _ARGUMENTS:
            raise TussleError(f"algorithm {reference}: {unknown('hook', attribute, _ARGUMENTS)}")
    return [
        hook
        for hook in _ARGUMENTS
        if (found := getattr(cls, hook, None)) is not None and found is not getattr(Algorithm, hook)
    ]


def _check_arguments(what: str, method: object, arguments: list[str]) -> None:
    if not callable(method):
        raise TussleError(f"{what} is {shown(method)}; write a method")
    try:
        signature = inspect.signature(method)
    except ValueError:  # written in C, without a signature
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        takes = ", ".join(["self", *signature.parameters])
        wanted = ", ".join(["self", *arguments])
        raise TussleError(f"{what} takes ({takes}); write it with ({wanted})") from None
