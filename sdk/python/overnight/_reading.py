"""Records of the service as classes: JSON in, dataclasses out."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from overnight.errors import UnreadableError

T = TypeVar("T")

Reader = Callable[[Any], Any]


def parse(text: bytes | str) -> Any:
    """The JSON value in `text`. Raises `UnreadableError` where it is none."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise UnreadableError(f"the answer is not JSON: {error}") from error


def read(kind: type[T], value: Any) -> T:
    """`value` as a record. Members that this release does not know are passed over, optional ones may be absent.

    Raises `UnreadableError` where a required member is missing.
    """
    if not isinstance(value, dict):
        raise UnreadableError(f"the answer is not a {kind.__name__}: {str(value)[:200]}")
    members = cast("dict[str, Any]", value)
    arguments: dict[str, Any] = {}
    for name, is_required, reader in _plan(kind):
        if name in members:
            member = members[name]
            arguments[name] = member if member is None else reader(member)
        elif is_required:
            raise UnreadableError(f"the answer is not a {kind.__name__}: it has no {name!r}")
    return kind(**arguments)


@cache
def _plan(kind: type[Any]) -> tuple[tuple[str, bool, Reader], ...]:
    """Of each field its name, whether it is required, and how its value is read."""
    hints = get_type_hints(kind)
    return tuple(
        (field.name, field.default is dataclasses.MISSING, _reader(hints[field.name]))
        for field in dataclasses.fields(kind)
    )


def _reader(hint: Any) -> Reader:
    if get_origin(hint) in (Union, UnionType):
        hint = next(part for part in get_args(hint) if part is not type(None))
    if get_origin(hint) is tuple and dataclasses.is_dataclass(element := get_args(hint)[0]):
        return lambda values: tuple(read(cast("type[Any]", element), value) for value in values)
    if get_origin(hint) is tuple:
        return tuple
    if dataclasses.is_dataclass(hint):
        return lambda value: read(cast("type[Any]", hint), value)
    return lambda value: value
