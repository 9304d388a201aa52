"""Tables whose `kind` decides which settings they take: queues, elements and applications.

The settings of a kind (key, unit, default, description, and format in a run) are in one class. A table of one
kind is an instance of that class. A `kind` may be a list, or be given by the profile; such a table is an
instance of a class that is generated from those of all kinds, until an axis or the profile decides.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Annotated, Any, ClassVar, Protocol, Self, get_args, runtime_checkable

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    create_model,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from tussle.errors import listed
from tussle.scenario.buffers import Link
from tussle.scenario.fields import Axis, name_of
from tussle.scenario.problems import Problem, annotations_in
from tussle.scenario.table import Table, docstrings


@runtime_checkable
class WrittenInRun(Protocol):
    """How a value of a unit is written in a run; types of fields have it as metadata."""

    def of(self, name: str, written: object, link: Link | None) -> dict[str, Any]:
        """Return the key of the run with its value."""
        ...


_OfRun = Callable[[object, Link | None], dict[str, Any]]


@dataclass(frozen=True)
class NameInRun:
    """The name of a setting in a run, without its unit, where it differs from the key."""

    name: str


@dataclass(frozen=True)
class Needed:
    """Marks a setting without a default; the example is a value of it."""

    example: str | int

    def __call__(self, schema: dict[str, Any]) -> None:
        """Add the example to the JSON schema."""
        schema.pop("default", None)
        schema |= {"x-needed": True, "examples": [self.example]}

    def in_toml(self) -> str:
        """Return the example as a person writes it."""
        return f'"{self.example}"' if isinstance(self.example, str) else str(self.example)


@dataclass(frozen=True)
class SimulatorDefault:
    """The simulator's default of a setting that a scenario does not give."""

    value: str | int | bool

    def __call__(self, schema: dict[str, Any]) -> None:
        """Add the default to the JSON schema."""
        schema["default"] = self.value


def needed(example: str | int, **options: Any) -> Any:
    """Return a field for a setting that a table of its kind needs."""
    return Field(default=None, json_schema_extra=Needed(example), **options)


def default(value: str | int | bool, **options: Any) -> Any:  # noqa: FBT001 (a value as a file has it)
    """Return a field for a setting that is not written into a run unless the scenario gives it."""
    return Field(default=None, json_schema_extra=SimulatorDefault(value), **options)


class KindTable(Table):
    """A table with a `kind`."""

    kinds: ClassVar["Kinds"]
    common: ClassVar[frozenset[str]] = frozenset({"kind"})
    """Keys that all kinds have."""
    kind: Any

    def written(self) -> dict[str, Any]:
        """Return the settings that are given, by their keys, without the common ones."""
        names = settings_of(type(self))
        given = {key: getattr(self, name) for key, name in names.items()}
        return {key: value for key, value in given.items() if value is not None}

    def settled(self) -> Self:
        """Return the table as an instance of the class of its kind, if it has one kind."""
        settled = self.kinds.settle(self.model_dump(by_alias=True, exclude_none=True))
        return self if settled is None else settled  # pyright: ignore[reportReturnType]

    def missing(self) -> dict[str, Needed]:
        """Return the settings that the kind needs and that are not given."""
        return {
            key: example
            for key, (name, example) in _needed_by(type(self)).items()
            if getattr(self, name) is None
        }

    def in_run(self, link: Link | None = None) -> dict[str, Any]:
        """Return the kind and the given settings in the format of a run: in SI units."""
        found: dict[str, Any] = {"kind": str(self.kind)}
        for name, of in _in_run(type(self)).items():
            if (written := getattr(self, name)) is not None:
                found |= of(written, link)
        return found

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Describe `kind` as the base class does."""
        made = super().__get_pydantic_json_schema__(schema, handler)
        about = docstrings(cls.kinds.base)["kind"]
        handler.resolve_ref_schema(made)["properties"]["kind"].setdefault("description", about)
        return made

    def __repr_args__(self) -> Any:
        return [(name, value) for name, value in super().__repr_args__() if value is not None]


@lru_cache
def settings_of(table: type[KindTable]) -> dict[str, str]:
    """Return the names of the fields that are settings of a kind, by their keys."""
    keys = {field.alias or name: name for name, field in table.model_fields.items()}
    return {key: name for key, name in keys.items() if key not in table.common}


@lru_cache
def _needed_by(table: type[KindTable]) -> dict[str, tuple[str, Needed]]:
    """Return the name and an example of each setting without a default, by its key."""
    extras = {
        key: (name, table.model_fields[name].json_schema_extra) for key, name in settings_of(table).items()
    }
    return {key: (name, extra) for key, (name, extra) in extras.items() if isinstance(extra, Needed)}


@lru_cache
def _in_run(table: type[KindTable]) -> dict[str, _OfRun]:
    """Return how each setting of a kind is written in a run, by the name of its field."""
    return {name: _of_run(key, table.model_fields[name]) for key, name in settings_of(table).items()}


def _of_run(key: str, field: FieldInfo) -> _OfRun:
    metadata = [*field.metadata, *annotations_in(field.annotation)]
    name = next((each.name for each in metadata if isinstance(each, NameInRun)), key)
    unit = next((each for each in metadata if isinstance(each, WrittenInRun)), None)
    if unit is None:
        return lambda written, _: {name: written}
    return partial(unit.of, name)


@lru_cache
def _keys_of(table: type[KindTable]) -> frozenset[str]:
    return frozenset({*table.common, *settings_of(table)})


class Kinds:
    """The kinds of a table."""

    def __init__(self, base: type[KindTable], what: str, *, is_kind_needed: bool = True) -> None:
        """Take the base class, whose subclasses are the kinds, and the name of a table with its article."""
        self.base = base
        # Subclasses are in the order in which the module defines them.
        kinds = base.__subclasses__()
        self.by_name = {get_args(each.model_fields["kind"].annotation)[0]: each for each in kinds}
        self._what = what
        self._is_kind_needed = is_kind_needed
        self.mixed = self._made_of_all()
        base.kinds = self

    def empty(self) -> Any:
        """Return a table in which nothing is written."""
        return self.mixed.model_validate({})

    def keys(self) -> list[str]:
        """Return all keys of all kinds."""
        return [field.alias or name for name, field in self.mixed.model_fields.items()]

    def settings(self, kind: str) -> list[str]:
        """Return the keys of the settings of a kind."""
        return list(settings_of(self.by_name[kind]))

    def settle(self, written: Mapping[str, Any]) -> Any:
        """Return the table without settings of other kinds; `None` if it does not have exactly one kind."""
        table = self.by_name.get(written["kind"]) if isinstance(written.get("kind"), str) else None
        if table is None:
            return None
        own = _keys_of(table)
        return table.model_validate({key: value for key, value in written.items() if key in own})

    def misplaced(self, table: KindTable, kinds: list[str], where: str) -> Iterator[Problem]:
        """Find settings of a table that none of its kinds takes; the table may have axes."""
        taken = list(dict.fromkeys(setting for kind in kinds for setting in self.settings(kind)))
        for setting in table.written():
            if setting not in taken:
                takers = [kind for kind in self.by_name if setting in self.settings(kind)]
                yield Problem(
                    f"{where}.{setting}",
                    f"a setting of {listed(takers)}; {listed(kinds)} "
                    f"{'takes' if len(kinds) == 1 else 'take'} {', '.join(taken)}",
                )

    def _made_of_all(self) -> type[KindTable]:
        """Make the class of tables with several kinds, or with a kind that is not known yet."""
        kind = Annotated[str, BeforeValidator(name_of(self._what, lambda: list(self.by_name)))]
        fields: dict[str, Any] = {
            "kind": (Axis[kind], ...) if self._is_kind_needed else (Axis[kind] | None, None),
            **{name: self._for_all(name) for name in self._names()},
        }
        name = self._what.rpartition(" ")[2].capitalize()
        about = f"{self._what.capitalize()} of several kinds, or of a kind that the profile decides."
        # A pickle finds the class by this name in the module of the kinds.
        module = self.base.__module__
        return create_model(f"Any{name}", __base__=self.base, __doc__=about, __module__=module, **fields)

    def _for_all(self, name: str) -> tuple[Any, Any]:
        """Return the field of a setting that several kinds may take."""
        owners = {kind: each for kind, each in self.by_name.items() if name in each.model_fields}
        field = next(iter(owners.values())).model_fields[name]
        annotation = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        about = f"The setting of {listed(list(owners))}."
        return annotation, Field(default=None, alias=field.alias, description=about)

    def _names(self) -> list[str]:
        """Return the names of all settings, in an order that agrees with that of each kind."""
        orders = [
            [name for name in each.model_fields if name not in self.base.model_fields]
            for each in self.by_name.values()
        ]
        found: list[str] = []
        while left := [order for order in orders if order]:
            heads = [order[0] for order in left]
            found.append(next(head for head in heads if not any(head in order[1:] for order in left)))
            orders = [[name for name in order if name != found[-1]] for order in left]
        return found

    def _class_for(self, value: Mapping[str, Any]) -> type[KindTable]:
        table = self.by_name.get(value["kind"]) if isinstance(value.get("kind"), str) else None
        if table is None or not value.keys() <= _keys_of(table):
            # A case may give another kind, which takes the other settings.
            return self.mixed
        return table

    def _validated(self, value: Any, _: Callable[[Any], Any]) -> BaseModel:
        if isinstance(value, self.base):
            return value
        table = self._class_for(value) if isinstance(value, Mapping) else self.mixed
        return table.model_validate(value)

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        choices = [handler.generate_schema(each) for each in (*self.by_name.values(), self.mixed)]
        return core_schema.no_info_wrap_validator_function(
            self._validated, core_schema.union_schema([*choices])
        )
