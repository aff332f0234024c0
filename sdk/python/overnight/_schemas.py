"""Structured answers: a schema for the engine, and the answer as a value."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

from overnight.records import Json

T = TypeVar("T")
M = TypeVar("M", bound="SchemaModel")


class SchemaModel(Protocol):
    """A class that has a JSON schema and reads JSON, such as a `pydantic.BaseModel`."""

    @classmethod
    def model_json_schema(cls) -> Json: ...

    @classmethod
    def model_validate_json(cls, json_data: str) -> Any: ...


@dataclass(frozen=True)
class Form(Generic[T]):
    """The form of an answer."""

    schema: Json | None
    parse: Callable[[str], T | None]
    """Raises `ValueError` where a text has another form."""
    get: Callable[[T, str], Any]
    """The member of this name."""

    @property
    def names(self) -> list[str]:
        """The members of an answer that is an object."""
        return list((self.schema or {}).get("properties", {}))

    @property
    def response_format(self) -> Json | None:
        if self.schema is None:
            return None
        name = "".join(letter if letter.isalnum() else "_" for letter in self.schema.get("title", "answer"))
        return {
            "type": "json_schema",
            "json_schema": {"name": name[:64], "schema": self.schema, "strict": True},
        }


def form_of(schema: type[SchemaModel] | Mapping[str, Any] | None) -> Form[Any]:
    """The form that a model class or a JSON schema describes; any text without either."""
    if schema is None:
        return Form(None, lambda _: None, lambda _, __: None)
    if isinstance(schema, Mapping):
        return Form(dict(schema), json.loads, _member)
    return Form(schema.model_json_schema(), schema.model_validate_json, _attribute)


def _member(value: Any, name: str) -> Any:
    return cast("Json", value).get(name) if isinstance(value, dict) else None


def _attribute(value: Any, name: str) -> Any:
    member = getattr(value, name, None)
    # A nested model stands in a frame as its JSON does.
    return cast("Any", member).model_dump(mode="json") if hasattr(member, "model_dump") else member
