# Generated from async_answers.py by generate_sync.py; do not edit.
"""The answers of a map as its caller reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from overnight._mapping import Answer, Job, answers
from overnight._operations import Operations
from overnight._transport import iterate

T = TypeVar("T")


class Answers(Iterator[Answer[T]], Generic[T]):
    """The answers of `Overnight.map`. Nothing is sent before the first is asked for."""

    def __init__(self, operations: Operations, job: Job, rows: Any) -> None:
        self._job = job
        self._answers = iterate(answers(operations, job, rows))

    def __next__(self) -> Answer[T]:
        return next(self._answers)

    @property
    def key(self) -> str:
        """With which the same map goes on after an interruption."""
        return self._job.key

    @property
    def batch_ids(self) -> tuple[str, ...]:
        """The batches that were made so far."""
        return tuple(self._job.batch_ids)
