"""What Python source says of its classes: the members, with their docstrings."""

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple


class Member(NamedTuple):
    """A name in a class or module."""

    name: str
    written: str
    """Its arguments, or the value that it has."""
    about: str

    @property
    def is_hook(self) -> bool:
        """Whether it is called."""
        return self.written.startswith("(")


def members(of: ast.ClassDef | ast.Module) -> Iterator[Member]:
    """Give the methods, and the names that a docstring follows."""
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
    """Give the members of a class that is written in Rust, in the order in which `stub` has them."""
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
