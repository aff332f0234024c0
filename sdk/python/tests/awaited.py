"""`AsyncOvernight` with the face of `Overnight`, so that a test is written once for both."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, cast

from overnight import AsyncOvernight, Overnight

END = object()


class Awaited:
    """Awaits the calls of `target` and reads its lists."""

    def __init__(self, loop: asyncio.AbstractEventLoop, target: Any) -> None:
        self._loop = loop
        self._target = target

    def __getattr__(self, name: str) -> Any:
        return self._outcome(getattr(self._target, name))

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._outcome(self._target(*arguments, **named))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        item = self._loop.run_until_complete(self._draw())
        if item is END:
            raise StopIteration
        return item

    async def _draw(self) -> Any:
        return await anext(self._target, END)

    def _outcome(self, value: Any) -> Any:
        if inspect.iscoroutine(value):
            return self._loop.run_until_complete(value)
        is_awaited = type(value).__name__.startswith(("Async", "async_generator", "method"))
        return Awaited(self._loop, value) if is_awaited else value


@contextmanager
def awaited(client: AsyncOvernight) -> Generator[Overnight, None, None]:
    """Calls `client` on an event loop of its own, and closes both."""
    loop = asyncio.new_event_loop()
    try:
        yield cast("Overnight", Awaited(loop, client))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(client.close())
    finally:
        loop.close()
