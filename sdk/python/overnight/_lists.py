"""Lists that go on where they were cut."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from http import HTTPStatus
from typing import Any, Protocol, TypeVar

from overnight import _calls
from overnight._core import Core, Tries, read_lines
from overnight._reading import parse, read
from overnight.errors import APIError, CutError, InvalidCallError, OvernightError
from overnight.records import Request

PAGE = 1_000
"""How many records one call reads. Between two of them nothing is held at the service."""


class _Record(Protocol):
    @property
    def id(self) -> str: ...


R = TypeVar("R", bound=_Record)
P = TypeVar("P")


async def pages(core: Core, kind: type[R], path: str, query: dict[str, Any]) -> AsyncGenerator[R, None]:
    """The records of a list, page by page. A page that is cut is taken up after its last record."""
    tries, left = Tries(core), query.pop("limit", None)
    if left is not None and left < 1:
        raise InvalidCallError("a limit is at least 1")
    while left is None or left > 0:
        asked = PAGE if left is None else min(PAGE, left)
        count = 0
        call = _calls.get("v1", path, **query, limit=asked)
        try:
            async with core.open(call) as opened, aclosing(read_lines(opened)) as lines:
                async for line in lines:
                    record = read(kind, parse(line))
                    query = {**query, "after": record.id}
                    tries.begin()
                    count += 1
                    yield record
            if count < asked:
                return
        except OvernightError as error:
            await tries.pause(error)
        left = None if left is None else left - count


async def places(core: Core, kind: type[P], path: tuple[str, ...], query: Mapping[str, Any]) -> AsyncGenerator[P, None]:
    """The records of a list whose pages name the place behind them, page by page."""
    after: str | None = None
    while True:
        answer = await core.answer(_calls.get(*path, **query, after=after))
        for record in answer["data"]:
            yield read(kind, record)
        after = answer["next"]
        if after is None:
            return


async def lines(core: Core, kind: type[R], call: _calls.Call) -> AsyncGenerator[R, None]:
    """The records of a list that comes whole or ends in `CutError`."""
    async with aclosing(core.lines(call)) as texts:
        async for text in texts:
            yield read(kind, parse(text))


async def follow(core: Core, batch_id: str, after: str | None) -> AsyncGenerator[Request, None]:
    """The requests of a batch as they end. A connection that breaks is made again, and the list goes on.

    A proxy ends its answer like a whole one when it loses the service, so the list is over once the service says that
    nothing is left.
    """
    tries = Tries(core)
    may_be_over = False
    while True:
        try:
            call = _calls.follow(batch_id, after)
            async with core.open(call) as opened, aclosing(read_lines(opened)) as lines:
                if opened.status == HTTPStatus.NO_CONTENT:
                    return
                may_be_over = False
                async for line in lines:
                    if not line.startswith(b"data: "):
                        continue
                    request = read(Request, parse(line.removeprefix(b"data: ")))
                    after = request.id
                    may_be_over = True
                    tries.begin()
                    yield request
            if not may_be_over:
                raise CutError("the answer was cut off: it ended without a request")
        except APIError as error:
            # What was read last, or all of the batch, has been deleted since it ended.
            if may_be_over and error.code in {"not_found", "invalid_input"}:
                return
            await tries.pause(error)
        except OvernightError as error:
            may_be_over = False
            await tries.pause(error)
