"""The base of all tables of a scenario file."""

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """A table of the scenario file: unknown keys are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
