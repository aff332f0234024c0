"""Answers in the order of their rows."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol, TypeVar


class _Indexed(Protocol):
    @property
    def index(self) -> int: ...


A = TypeVar("A", bound=_Indexed)


async def in_order(source: AsyncGenerator[A, None]) -> AsyncGenerator[A, None]:
    """Answers wait for those of the rows before them."""
    waiting: dict[int, A] = {}
    index = 0
    async with aclosing(source):
        async for answer in source:
            waiting[answer.index] = answer
            while index in waiting:
                yield waiting.pop(index)
                index += 1
    # Requests that somebody deleted meanwhile have no answer.
    for _, answer in sorted(waiting.items()):
        yield answer
