"""The blocks of docs/reference/api.md, from the docstrings of what `import tussle` offers."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import tussle
import tussle.gym
from tussle.experiment import Execution
from tussle.gym.policy import Policy

_ELSEWHERE = {
    "Scenario": "The keys are those of [scenario files](scenario.md).",
    "Algorithm": "[Your own algorithms](own-algorithms.md) has the hooks and their arguments.",
    "Dataset": "[Datasets](dataset.md) describes the columns of the tables.",
}
_ONLY_FUNCTIONS = {"Scenario"}
"""Classes whose attributes have a page of their own."""
_ONLY_ABOUT = {"Algorithm", "TussleError"}


def blocks() -> Iterator[str]:
    """Yield the blocks of the page, functions first."""
    exported = {name: getattr(tussle, name) for name in tussle.__all__ if not name.startswith("_")}
    functions = {name: each for name, each in exported.items() if not isinstance(each, type)}
    yield _cleaned(inspect.cleandoc(tussle.__doc__ or ""))
    yield "## Functions"
    for name, function in functions.items():
        yield from _function(f"tussle.{name}", _parsed(function))
    yield "### How runs are executed"
    yield (
        inspect.cleandoc(Execution.__doc__ or "") + " These are keywords of `tussle.run` and `tussle.matrix`."
    )
    yield _members(_parsed(Execution))
    yield "## Classes"
    for name, cls in exported.items():
        if name not in functions:
            yield from _class(name, cls)


def gym_blocks() -> Iterator[str]:
    """Yield the blocks of the page of `tussle.gym`, environments first."""
    yield _cleaned(inspect.cleandoc(tussle.gym.__doc__ or ""))
    names = [*sorted(tussle.gym.__all__, key=lambda name: not name.endswith("Env"))]
    for name in names:
        yield from _class(name, getattr(tussle.gym, name), "tussle.gym")
    yield from _class("Policy", Policy, "tussle.gym.policy")


def _parsed(value: Any) -> Any:
    node: Any = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
    for each in ast.walk(node):
        if isinstance(each, ast.arg):
            each.annotation = _unquoted(each.annotation)
        if isinstance(each, ast.FunctionDef):
            each.returns = _unquoted(each.returns)
    return node


def _unquoted(annotation: ast.expr | None) -> ast.expr | None:
    """Return a type as readers know it, also where the source has it as a text."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return ast.parse(annotation.value, mode="eval").body
    return annotation


def _function(name: str, node: ast.FunctionDef) -> Iterator[str]:
    yield f"### {name}"
    yield f"```python\n{_signature(name, node)}\n```"
    yield _cleaned(ast.get_docstring(node) or "")


def _signature(name: str, node: ast.FunctionDef) -> str:
    """Return the call of a function with types, in lines that fit on a page."""
    given = ast.unparse(node.args)
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{name}({given}){returned}"
    if len(line) <= _MOST_COLUMNS:
        return line
    parts = [ast.unparse(_alone(node.args, index)) for index in range(_count(node.args))]
    starred = len(node.args.args)
    if node.args.kwonlyargs:
        parts.insert(starred, "*")
    inner = ",\n    ".join(part for part in parts if part)
    return f"{name}(\n    {inner},\n){returned}"


_MOST_COLUMNS = 100


def _count(arguments: ast.arguments) -> int:
    return len(arguments.args) + len(arguments.kwonlyargs) + (arguments.kwarg is not None)


def _alone(arguments: ast.arguments, index: int) -> ast.AST:
    """Return one argument, with its type and default."""
    plain, named = arguments.args, arguments.kwonlyargs
    if index < len(plain):
        first_default = len(plain) - len(arguments.defaults)
        default = arguments.defaults[index - first_default] if index >= first_default else None
        return _written(plain[index], default)
    if index < len(plain) + len(named):
        place = index - len(plain)
        return _written(named[place], arguments.kw_defaults[place])
    assert arguments.kwarg is not None  # noqa: S101 (the count includes it only then)
    return ast.Name(f"**{arguments.kwarg.arg}")


def _written(argument: ast.arg, default: ast.expr | None) -> ast.AST:
    alone = ast.arguments(posonlyargs=[], args=[argument], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Name(ast.unparse(alone) + (f" = {ast.unparse(default)}" if default else ""))


def _class(name: str, cls: type, module: str = "tussle") -> Iterator[str]:
    node = _parsed(cls)
    yield f"### {module}.{name}"
    yield "\n\n".join(filter(None, [_cleaned(ast.get_docstring(node) or ""), _ELSEWHERE.get(name, "")]))
    if name in _ONLY_ABOUT:
        return
    if name not in _ONLY_FUNCTIONS and (table := _members(node)):
        yield table
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("_") and not _is_property(each):
            yield f"#### {name}.{each.name}"
            shown = ast.arguments(**{**vars(each.args), "args": each.args.args[1:]})
            call = ast.unparse(shown)
            yield f"```python\n{name}.{each.name}({call})\n```"
            yield _cleaned(ast.get_docstring(each) or "")


def _is_property(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(each) in ("property", "cached_property") for each in node.decorator_list)


def _members(node: ast.ClassDef) -> str:
    """Return a table of the attributes that have a docstring, and of the properties; else an empty text."""
    rows = []
    for statement, following in pairwise([*node.body, ast.Pass()]):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(about))):
                rows.append((name, about))
            case ast.FunctionDef(name=name), _ if _is_property(statement):
                rows.append((name, ast.get_docstring(statement) or ""))
    if not rows:
        return ""
    lines = [f"| `{name}` | {_in_cell(about)} |" for name, about in rows]
    return "\n".join(["| name | meaning |", "| --- | --- |", *lines])


def _in_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _cleaned(text: str) -> str:
    """Return a docstring without the indentation of its source."""
    return inspect.cleandoc(text)
