"""The blocks of docs/reference/json.md, from the models of the documents that `--json` prints."""

import inspect
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from tussle.answers.documents import DOCUMENTS
from tussle.suites import ChangesDocument

Schema = dict[str, Any]
Rows = list[tuple[str, str, str]]


def sections() -> Iterator[tuple[str, str, Rows]]:
    """Yield title, description and rows (key, type, meaning) of each document and each object in it.

    An object that several documents have is described with the first.
    """
    seen: set[type[BaseModel]] = set()
    for document in (*DOCUMENTS, ChangesDocument):
        for model in _with_inner(document):
            if model not in seen:
                seen.add(model)
                level = "##" if model is document else "###"
                yield f"{level} {model.__name__}", inspect.cleandoc(model.__doc__ or ""), _rows(model)


def _with_inner(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for field in model.model_fields.values():
        for inner in _models(field.annotation):
            yield from _with_inner(inner)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from _models(each)


def _rows(model: type[BaseModel]) -> Rows:
    fields = model.model_json_schema(mode="serialization")["properties"].items()
    return [(f"`{name}`", _type(field), field.get("description", "")) for name, field in fields]


def _type(field: Schema) -> str:
    if "anyOf" in field:
        return " or ".join(map(_type, field["anyOf"]))
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in field or "enum" in field:
        return ", ".join(f'`"{each}"`' for each in field.get("enum", [field.get("const")]))
    kind = field.get("type", "any")
    if kind == "array":
        return f"list of {_type(field['items'])}"
    if kind == "object" and isinstance(field.get("additionalProperties"), dict):
        return f"object of {_type(field['additionalProperties'])}"
    return kind
