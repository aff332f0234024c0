"""Many requests in few calls: bodies go in windows, and what is not answered goes again."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, cast

from overnight import _calls
from overnight._core import Core, Tries, read_lines
from overnight._reading import parse, read
from overnight.errors import CutError, ErrorBody, OvernightError, QuotaExceededError, UnreadableError, api_error
from overnight.records import BulkOutcome, CreateRequest, RequestCreated

SEGMENT_LINES = 1_024
"""How many places share an idempotency key. A call repeats those before its own as blank lines, so they are few."""
BYTES_MAX = (1 << 20) - SEGMENT_LINES
"""How long a call's lines are together at most, unless one alone is longer: so much is read before it is answered."""
PATIENCE_S = 600.0
"""How long a bulk create waits while the account uses all that it may and nothing is taken in."""

Body = CreateRequest | Mapping[str, Any] | None
"""What a bulk create takes: a request, the body of a chat completion, or `None`, which keeps a place free."""


async def create_requests(
    core: Core, key: str, bodies: AsyncIterator[Body] | AsyncIterator[bytes | None]
) -> AsyncGenerator[BulkOutcome, None]:
    """The outcomes in the order of the bodies. At most a window of them is in memory.

    A body has its place, counted from 1, as a part of the key: the same bodies in the same places with the same key are
    created once in all.
    """
    window = _Window()
    place = 0
    async for body in bodies:
        place += 1
        if body is None:
            continue
        line = to_line(body)
        if window.must_go_before(place, len(line)):
            async with aclosing(_send(core, key, window)) as outcomes:
                async for outcome in outcomes:
                    yield outcome
        window.push(place, line)
    async with aclosing(_send(core, key, window)) as outcomes:
        async for outcome in outcomes:
            yield outcome


def to_line(body: CreateRequest | Mapping[str, Any] | bytes) -> bytes:
    """A body as it is sent. Raises `InvalidCallError` where it is no JSON."""
    match body:
        case bytes():
            return body
        case CreateRequest():
            return _calls.to_json(body.to_json())
        case _:
            return _calls.to_json({"request_body": body})


class _Window:
    """Bodies that are not answered yet, all of one segment."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, bytes, str]] = []
        self._bytes = 0

    def must_go_before(self, place: int, length: int) -> bool:
        """Whether it has to be sent before a body of `length` bytes at `place` is added."""
        if not self.lines:
            return False
        return self._bytes + length >= BYTES_MAX or self.segment != _segment(place)

    def push(self, place: int, line: bytes) -> None:
        self.lines.append((place, line, hashlib.sha256(line).hexdigest()))
        self._bytes += len(line) + 1

    def answered(self, digest: str) -> int | None:
        """Takes out the first line with this digest, which is answered: its place."""
        for index, (place, line, own) in enumerate(self.lines):
            if own == digest:
                del self.lines[index]
                self._bytes -= len(line) + 1
                return place
        return None

    @property
    def segment(self) -> int:
        return _segment(self.lines[0][0])

    def content(self) -> bytes:
        """The lines, each at its place in the segment; blank ones stand for what does not go."""
        parts: list[bytes] = []
        at = self.segment * SEGMENT_LINES
        for place, line, _ in self.lines:
            parts += [b"\n" * (place - at - 1), line, b"\n"]
            at = place
        return b"".join(parts)


def _segment(place: int) -> int:
    return (place - 1) // SEGMENT_LINES


async def _send(core: Core, key: str, window: _Window) -> AsyncGenerator[BulkOutcome, None]:
    """Sends the window until all of it is answered."""
    tries = Tries(core)
    while window.lines:
        outcomes: list[BulkOutcome] = []
        error = await _try(core, key, window, outcomes)
        if outcomes:
            tries.begin()
        for outcome in outcomes:
            yield outcome
        if error is not None:
            # Requests end meanwhile, and make room for others.
            await tries.pause(error, PATIENCE_S if isinstance(error, QuotaExceededError) else 0.0)


async def _try(core: Core, key: str, window: _Window, outcomes: list[BulkOutcome]) -> OvernightError | None:
    """Sends the window once, takes out what was answered, and returns why the rest was not."""
    try:
        call = _calls.create_many(window.content(), _calls.derive_key(key, window.segment))
        async with core.open(call) as opened, aclosing(read_lines(opened)) as lines:
            async for line in lines:
                outcome = _read_outcome(parse(line), window)
                if outcome is not None:
                    outcomes.append(outcome)
    except OvernightError as error:
        return error
    return CutError("the answer lacks lines") if window.lines else None


def _read_outcome(answer: Any, window: _Window) -> BulkOutcome | None:
    """The outcome of the line with the answer's digest, `None` where none was sent. Raises a refusal that may pass."""
    if not isinstance(answer, dict) or "sha256" not in answer:
        raise UnreadableError("the answer to a line has no digest")
    members = cast("dict[str, Any]", answer)
    error = None
    if "error" in members:
        body = read(ErrorBody, members["error"])
        error = api_error(_status(body), body)
        if error.status in (429, 503):
            raise error
    place = window.answered(str(members["sha256"]))
    if place is None:
        return None
    return BulkOutcome(place, error=error) if error else BulkOutcome(place, created=read(RequestCreated, members))


def _status(body: ErrorBody) -> int:
    """The status of the same refusal to a call of its own."""
    by_type = {"authentication_error": 401, "billing_error": 402, "permission_error": 403, "rate_limit_error": 429}
    by_code = {"too_large": 413, "unavailable": 503}
    fallback = 500 if body.type == "server_error" else 422
    return by_type.get(body.type) or by_code.get(body.code, fallback)
