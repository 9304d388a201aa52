"""Files for algorithms that are classes of the running Python program, such as a cell of a notebook.

Runs name algorithms by file and class, so that other processes can execute them and a dataset can be
repeated. A class of a module is named by that module's file. A class of a cell is written into a file, with
the imports, functions, classes and constants of the notebook that it uses.
"""

import ast
import dis
import hashlib
import importlib
import inspect
import linecache
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tussle.cache import cache_root, keep
from tussle.errors import TussleError

_CONSTANTS = (bool, int, float, str, bytes, type(None))
_REMEDY = (
    "write the class into a file, in a notebook with %%writefile mine.py, and name it, like mine.py:{name}"
)


def with_classes_named(value: Any) -> Any:
    """Return tables of a scenario with each class replaced by its file and name, as `mine.py:Mine`.

    Raises TussleError when a class has no file and cannot be written into one.
    """
    if isinstance(value, type):
        return reference_of(value)
    if isinstance(value, Mapping):
        return {key: with_classes_named(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(with_classes_named, value)) if type(value) in (list, tuple) else value
    return value


def reference_of(cls: type) -> str:
    """Return the file and class that stand for an algorithm, as `mine.py:Mine`.

    Raises TussleError when the class is inside of a function, or uses a value that cannot be written as
    Python.
    """
    if cls.__qualname__ != cls.__name__:
        raise TussleError(
            f"algorithm {cls.__qualname__}: a class inside of another or of a function cannot be imported; "
            "define it at the top of a file or a cell"
        )
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if file and Path(file).suffix == ".py" and Path(file).is_file():
        return f"{_from_here(Path(file))}:{cls.__name__}"
    text = _ClassSource(cls).text()
    written = cache_root() / "algorithms" / _digest(text) / f"{cls.__name__.lower()}.py"
    if not written.is_file():
        try:
            keep(written, text.encode())
        except OSError as error:
            raise TussleError(
                f"algorithm {cls.__name__}: cannot write {written}: {error.strerror}; "
                + _REMEDY.format(name=cls.__name__)
            ) from None
    return f"{written}:{cls.__name__}"


def _from_here(file: Path) -> Path:
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class _ClassSource:
    """The text of a file with a class, and all that it uses of the notebook."""

    def __init__(self, cls: type) -> None:
        self._cls = cls
        self._imports: dict[str, str] = {}
        self._constants: dict[str, str] = {}
        self._sources: dict[str, str] = {}
        self._add(cls.__name__, cls)

    def text(self) -> str:
        """Return the imports, the constants, then functions and classes, each after what it uses."""
        parts = [
            "\n".join(sorted(self._imports.values())),
            "\n".join(self._constants.values()),
            *self._sources.values(),
        ]
        return "\n\n\n".join(filter(None, parts)) + "\n"

    def _add(self, name: str, value: Any) -> None:
        """Add what a global name of the notebook stands for."""
        if name in self._imports or name in self._constants or name in self._sources:
            return
        if isinstance(value, ModuleType):
            same = value.__name__ == name
            self._imports[name] = f"import {name}" if same else f"import {value.__name__} as {name}"
        elif isinstance(value, type | FunctionType) and value.__module__ == self._cls.__module__:
            self._add_definition(name, value)
        elif _is_importable(value):
            renamed = "" if value.__name__ == name else f" as {name}"
            self._imports[name] = f"from {value.__module__} import {value.__name__}{renamed}"
        elif _is_constant(value):
            self._constants[name] = f"{name} = {value!r}"
        else:
            kind = type(value).__name__
            raise TussleError(
                f"algorithm {self._cls.__name__} uses {name}, a {kind} that cannot be written as Python; "
                + _REMEDY.format(name=self._cls.__name__)
            )

    def _add_definition(self, name: str, value: type | FunctionType) -> None:
        source = _source_of(value)
        if source is None:
            raise TussleError(
                f"algorithm {self._cls.__name__}: the source of {name} is not known to Python; "
                + _REMEDY.format(name=self._cls.__name__)
            )
        if value.__name__ != name:
            source = f"{source}\n\n{name} = {value.__name__}"
        self._sources[name] = ""  # classes may refer to each other
        for used, found in _globals_used(source, value):
            self._add(used, found)
        del self._sources[name]
        self._sources[name] = source


def _is_importable(value: Any) -> bool:
    """Return whether a value is a top-level name of a module that other processes can import."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not module or not name or module == "__main__" or "." in name:
        return False
    try:
        return getattr(importlib.import_module(module), name, None) is value
    except ImportError:
        return False


def _is_constant(value: Any) -> bool:
    if isinstance(value, tuple | list | set | frozenset):
        return type(value) in (tuple, list, set, frozenset) and all(map(_is_constant, value))
    if isinstance(value, dict):
        return type(value) is dict and all(_is_constant(each) for pair in value.items() for each in pair)
    # Other floats have no literal.
    return type(value) in _CONSTANTS and value == value and value not in (float("inf"), float("-inf"))  # noqa: PLR0124


def _globals_used(source: str, value: type | FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the names that a definition's code looks up in the notebook, with their values."""
    space = vars(sys.modules[value.__module__])
    # Compiled, not parsed: the compiler knows which names are local.
    names = dict.fromkeys(_names(compile(source, "<algorithm>", "exec", dont_inherit=True)))
    names.pop(value.__name__, None)
    for name in names:
        if name in space and not name.startswith("__"):
            yield name, space[name]


def _names(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _source_of(value: type | FunctionType) -> str | None:
    """Return the source of a definition; `inspect` finds that of a class in a cell by its methods only."""
    if isinstance(value, FunctionType):
        try:
            return textwrap.dedent(inspect.getsource(value)).rstrip()
        except (OSError, TypeError):
            return None
    methods = (each for each in vars(value).values() if isinstance(each, FunctionType))
    files = [method.__code__.co_filename for method in methods]
    # Without methods: the last cell with a class of that name.
    for file in dict.fromkeys(
        files or [each for each in reversed(linecache.cache) if not Path(each).exists()]
    ):
        lines = linecache.getlines(file)
        tree = ast.parse("".join(lines))  # what ran is Python; magic commands are calls by now
        for node in reversed(tree.body):
            if isinstance(node, ast.ClassDef) and node.name == value.__name__:
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                return "".join(lines[first - 1 : node.end_lineno]).rstrip()
    return None
