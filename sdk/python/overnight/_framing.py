"""A frame in, a frame out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from overnight import _rows
from overnight._mapping import Answer, Job

F = TypeVar("F")

COLUMNS: dict[str, Callable[[Answer[Any]], Any]] = {
    "answer": lambda answer: answer.text,
    "finish_reason": lambda answer: answer.finish_reason,
    "prompt_tokens": lambda answer: answer.prompt_tokens,
    "completion_tokens": lambda answer: answer.completion_tokens,
    "cost": lambda answer: None if answer.cost is None else float(answer.cost),
    "error": lambda answer: None if answer.error is None else str(answer.error),
}


class FrameColumns:
    """The columns that a map adds to a frame, filled answer by answer."""

    def __init__(self, frame: object, job: Job, prefix: str) -> None:
        self._form = job.form
        self._prefix = prefix
        self._members = {name: prefix + (f"answer_{name}" if name in COLUMNS else name) for name in job.form.names}
        names = [*(prefix + name for name in COLUMNS), *self._members.values()]
        _rows.check_columns(frame, names)
        self._columns: dict[str, list[Any]] = {name: [None] * (_rows.count(frame) or 0) for name in names}

    def fill(self, answer: Answer[Any]) -> None:
        """Puts an answer into the row that it is of."""
        for name, get in COLUMNS.items():
            self._columns[self._prefix + name][answer.index] = get(answer)
        if answer.parsed is not None:
            for name, column in self._members.items():
                self._columns[column][answer.index] = self._form.get(answer.parsed, name)

    def added_to(self, frame: F) -> F:
        """The frame with the columns."""
        return _rows.add_columns(frame, self._columns)
