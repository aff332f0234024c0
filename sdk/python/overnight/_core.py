"""A call: sent, judged, and repeated where that is safe."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from overnight._calls import Call
from overnight._reading import parse, read
from overnight._retries import pause_after
from overnight._transport import Opened, Transport
from overnight.errors import APIError, CutError, ErrorBody, ForeignError, OvernightError, UnreadableError, api_error

ERROR_BYTES_MAX = 4 << 20
"""How much of an error is read: room for 1,000 details."""
LINE_BYTES_MAX = 256 << 20
"""The longest line of a list that is read."""
FOREIGN_CHARS_MAX = 200
RETRIES_DEFAULT = 5


class Core:
    """Calls of one service, each tried `retries` times more, and as often as it takes for `patience_s`."""

    def __init__(self, transport: Transport, retries: int, patience_s: float = 0.0) -> None:
        self.transport = transport
        self.retries = retries
        self.patience_s = patience_s

    async def answer(self, call: Call) -> Any:
        """Makes the call and reads its answer, one JSON value."""
        tries = Tries(self, is_repeatable=call.is_repeatable)
        while True:
            try:
                async with self.open(call) as opened:
                    return parse(b"".join([chunk async for chunk in opened.chunks()]))
            except OvernightError as error:
                await tries.pause(error)

    async def lines(self, call: Call) -> AsyncGenerator[bytes, None]:
        """Makes the call and reads its lines as they come. A list that is cut off ends in `CutError`."""
        tries, has_begun = Tries(self), False
        while True:
            try:
                async with self.open(call) as opened, aclosing(read_lines(opened)) as lines:
                    async for line in lines:
                        has_begun = True
                        yield line
                    return
            except OvernightError as error:
                if has_begun:
                    raise
                await tries.pause(error)

    @asynccontextmanager
    async def open(self, call: Call) -> AsyncGenerator[Opened, None]:
        """Makes the call once. Raises what the service refuses."""
        async with self.transport.open(call) as opened:
            if not 200 <= opened.status < 300:
                raise await _refusal(opened)
            yield opened


class Tries:
    """The tries of one call, or of one list since its last record."""

    def __init__(self, core: Core, *, is_repeatable: bool = True) -> None:
        self._core = core
        self._is_repeatable = is_repeatable
        self.begin()

    def begin(self) -> None:
        """Something came: what fails from now on is tried as often as ever."""
        self._count = 0
        self._began_at = time.monotonic()

    async def pause(self, error: OvernightError, patience_s: float = 0.0) -> None:
        """Waits before another try after `error`, or raises it where there is none."""
        pause = pause_after(error, is_repeatable=self._is_repeatable, tries=self._count)
        waited_s = time.monotonic() - self._began_at
        is_patient = self._core.retries > 0 and waited_s < max(patience_s, self._core.patience_s)
        if pause is None or (self._count >= self._core.retries and not is_patient):
            raise error
        self._count += 1
        await self._core.transport.sleep(pause)


async def read_lines(opened: Opened) -> AsyncGenerator[bytes, None]:
    """The lines of an answer without their line breaks."""
    unread: list[bytes] = []
    length = 0
    async for chunk in opened.chunks():
        first, *others = chunk.split(b"\n")
        unread.append(first)
        for other in others:
            line = b"".join(unread)
            # The service ends a list so that it could not finish; no record begins with an error.
            if line.startswith(b'{"error":'):
                raise CutError(f"the answer was cut off: {line.decode(errors='replace')}")
            yield line
            unread, length = [other], 0
        length += len(unread[-1])
        if length > LINE_BYTES_MAX:
            raise UnreadableError(f"a line of the answer is longer than {LINE_BYTES_MAX} bytes")
    if b"".join(unread):
        raise CutError("the answer was cut off: the last line has no end")


async def _refusal(opened: Opened) -> APIError | ForeignError:
    """Reads the answer that says no."""
    body = bytearray()
    try:
        async for chunk in opened.chunks():
            body += chunk
            if len(body) > ERROR_BYTES_MAX:
                break
    except CutError:
        pass
    try:
        error = read(ErrorBody, parse(bytes(body))["error"])
    except (OvernightError, LookupError, TypeError):
        return ForeignError(opened.status, body.decode(errors="replace")[:FOREIGN_CHARS_MAX])
    return api_error(opened.status, error, _seconds(opened.headers.get("Retry-After")))


def _seconds(text: str | None) -> float | None:
    """What `Retry-After` asks for, where that is a number."""
    return float(text) if text is not None and text.strip().isdecimal() else None
