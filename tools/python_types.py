"""Reads the members of classes, with their docstrings, from Python source."""

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple


class Member(NamedTuple):
    """A member of a class or module."""

    name: str
    written: str
    """The arguments of a callable, else the default value."""
    about: str

    @property
    def is_hook(self) -> bool:
        """Whether the member is callable."""
        return self.written.startswith("(")


def members(of: ast.ClassDef | ast.Module) -> Iterator[Member]:
    """Return the methods, and the attributes that have a docstring."""
    for statement, following in pairwise([*of.body, ast.Pass()]):
        match statement, following:
            case ast.FunctionDef(name=name), _:
                arguments = ", ".join(argument.arg for argument in statement.args.args[1:])
                yield Member(name, f"({arguments})", ast.get_docstring(statement) or "")
            case (
                ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                | ast.Assign(targets=[ast.Name(id=name)], value=value),
                ast.Expr(value=ast.Constant(value=str(about))),
            ):
                yield Member(name, f" = {ast.unparse(value)}", about)


def visible(view: type, stub: ast.Module) -> Iterator[Member]:
    """Return the members of a class written in Rust, in the order of its Python `stub`."""
    declared = next(
        each for each in stub.body if isinstance(each, ast.ClassDef) and each.name == view.__name__
    )
    for statement in declared.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                value = vars(view)[name]
                arguments = list(inspect.signature(value).parameters)[1:] if callable(value) else None
                written = "" if arguments is None else f"({', '.join(arguments)})"
                yield Member(name, written, value.__doc__ or "")
