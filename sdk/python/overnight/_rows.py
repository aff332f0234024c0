"""Rows and what is asked about each: strings, dicts, and the frames of pandas and polars."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from overnight.errors import InvalidCallError
from overnight.records import Json

F = TypeVar("F")

Prompt = str | Callable[[Any], "str | list[Json]"]
"""A format string with `{column}`, or a function of the row that returns a text or messages."""


Text = str | Callable[[Any], str]
"""A format string with `{column}`, or a function of the row that returns a text."""


def library_of(rows: object) -> str | None:
    """`pandas` or `polars`, if `rows` is a frame of it. Neither is imported."""
    library = type(rows).__module__.partition(".")[0]
    return library if library in ("pandas", "polars") and type(rows).__name__ == "DataFrame" else None


def draw(rows: Iterable[Any]) -> Iterator[Any]:
    """The rows one by one; those of a frame as dicts of their columns."""
    if isinstance(rows, (str, bytes, Mapping)):
        raise InvalidCallError("rows are many: put the one row into a list")
    frame = cast("Any", rows)
    match library_of(rows):
        case "pandas":
            names = [str(name) for name in frame.columns]
            return (dict(zip(names, values, strict=True)) for values in frame.itertuples(index=False, name=None))
        case "polars":
            return frame.iter_rows(named=True)
        case _:
            return iter(rows)


async def draw_any(rows: Iterable[Any] | AsyncIterable[Any]) -> AsyncIterator[Any]:
    """The same, also of what comes asynchronously."""
    if isinstance(rows, AsyncIterable):
        async for row in rows:
            yield row
    else:
        for row in draw(rows):
            yield row


def count(rows: object) -> int | None:
    """How many rows there are, where that is known before they are drawn."""
    try:
        return len(cast("Sequence[Any]", rows))
    except TypeError:
        return None


def ask(row: Any, index: int, prompt: Prompt | None) -> list[Json]:
    """The messages of a row. Raises `InvalidCallError` where the prompt and the row do not fit."""
    asked = prompt(row) if callable(prompt) else write(row, index, prompt)
    return [{"role": "user", "content": asked}] if isinstance(asked, str) else asked


def write(row: Any, index: int, prompt: Text | None) -> str:
    """The text of a row. Raises `InvalidCallError` where the prompt and the row do not fit."""
    if callable(prompt):
        return prompt(row)
    if prompt is None:
        if not isinstance(row, str):
            raise InvalidCallError(f"row {index} is no text: say what to take of it, with `{{column}}` or a function")
        return row
    try:
        if isinstance(row, str):
            return prompt.format(row, text=row)
        if isinstance(row, Mapping):
            return prompt.format_map(cast("Mapping[str, Any]", row))
    except (LookupError, ValueError, AttributeError) as error:
        raise InvalidCallError(
            f"the prompt names {error}, which row {index} does not have; write braces of the text itself twice"
        ) from error
    raise InvalidCallError(f"row {index} is neither a text nor a dict: pass a function as `prompt`")


def add_columns(frame: F, columns: Mapping[str, list[Any]]) -> F:
    """A frame of the same library with these columns besides."""
    table = cast("Any", frame)
    if library_of(frame) == "pandas":
        return table.assign(**columns)
    polars: Any = importlib.import_module("polars")
    return table.with_columns([polars.Series(name, values, strict=False) for name, values in columns.items()])


def check_columns(frame: object, added: Iterable[str]) -> None:
    """Raises `InvalidCallError` where `frame` is no frame, or has a column that would be added."""
    if library_of(frame) is None:
        raise InvalidCallError(f"a DataFrame of pandas or polars is needed, not {type(frame).__name__}")
    present = {str(name) for name in cast("Any", frame).columns}
    if taken := sorted(present.intersection(added)):
        raise InvalidCallError(f"the frame has columns {', '.join(taken)} already: pass `prefix`")
