"""Creates with an idempotency key: each is done once, however often it is sent."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from overnight._bulk import Body
from overnight._calls import check_key
from overnight._operations import Operations
from overnight._rows import draw_any
from overnight.records import BatchCreated, BulkOutcome, CreateRequest, RequestCreated


class AsyncOnce:
    """Creates with one idempotency key, of `AsyncOvernight.once`. Keys of requests, batches and bulk creates are
    apart."""

    def __init__(self, operations: Operations, key: str) -> None:
        self._operations = operations
        self._key = check_key(key)

    async def create_request(
        self,
        request_body: Mapping[str, Any],
        *,
        metadata: Mapping[str, Any] | None = None,
        webhook: str | None = None,
    ) -> RequestCreated:
        """As `AsyncOvernight.create_request`. Raises `IdempotencyKeyReusedError` where the key was used with another
        body."""
        return await self._operations.create_request(CreateRequest(request_body, metadata, webhook), self._key)

    def create_requests(self, requests: Iterable[Body] | AsyncIterable[Body]) -> AsyncIterator[BulkOutcome]:
        """As `AsyncOvernight.create_requests`. The key guards each body together with its place: the same bodies in the
        same places with the same key are created once in all. `None` keeps a place free and has no outcome."""
        return self._operations.create_requests(draw_any(requests), self._key)

    async def create_batch(
        self,
        requests_ids: Sequence[str],
        *,
        metadata: Mapping[str, Any] | None = None,
        webhook: str | None = None,
    ) -> BatchCreated:
        """As `AsyncOvernight.create_batch`."""
        return await self._operations.create_batch(requests_ids, metadata, webhook, self._key)
