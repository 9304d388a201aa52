"""The base of all tables of a scenario file."""

import ast
import inspect
import itertools
import textwrap
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic_core import CoreSchema


class Table(BaseModel):
    """A table of the scenario file: unknown keys are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Describe each key by the docstring below it.

        Pydantic itself would parse the source whenever a class is made, for a schema that few read.
        """
        made = handler(schema)
        properties = handler.resolve_ref_schema(made).get("properties", {})
        for name, about in docstrings(cls).items():
            if name in cls.model_fields:
                properties[cls.model_fields[name].alias or name].setdefault("description", about)
        return made


@cache
def docstrings(table: type[Table]) -> dict[str, str]:
    """Return the docstrings of the fields of a table, by the name of the field."""
    inherited = [docstrings(base) for base in table.__bases__ if issubclass(base, Table)]
    found = {name: about for of_base in inherited for name, about in of_base.items()}
    try:
        source = textwrap.dedent(inspect.getsource(table))
    except OSError:  # a class that is made when the program runs
        return found
    (definition,) = ast.parse(source).body
    statements = definition.body if isinstance(definition, ast.ClassDef) else []
    for field, below in itertools.pairwise(statements):
        match field, below:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(about))):
                found[name] = inspect.cleandoc(about)
    return found
