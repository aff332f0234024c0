# Generated from async_once.py by generate_sync.py; do not edit.
"""Creates with an idempotency key: each is done once, however often it is sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from overnight._bulk import Body
from overnight._calls import check_key
from overnight._operations import Operations
from overnight._rows import draw_any
from overnight._transport import iterate, run
from overnight.records import BatchCreated, BulkOutcome, CreateRequest, RequestCreated


class Once:
    """Creates with one idempotency key, of `Overnight.once`. Keys of requests, batches and bulk creates are
    apart."""

    def __init__(self, operations: Operations, key: str) -> None:
        self._operations = operations
        self._key = check_key(key)

    def create_request(
        self,
        request_body: Mapping[str, Any],
        *,
        metadata: Mapping[str, Any] | None = None,
        webhook: str | None = None,
    ) -> RequestCreated:
        """As `Overnight.create_request`. Raises `IdempotencyKeyReusedError` where the key was used with another
        body."""
        return run(self._operations.create_request(CreateRequest(request_body, metadata, webhook), self._key))

    def create_requests(self, requests: Iterable[Body]) -> Iterator[BulkOutcome]:
        """As `Overnight.create_requests`. The key guards each body together with its place: the same bodies in the
        same places with the same key are created once in all. `None` keeps a place free and has no outcome."""
        return iterate(self._operations.create_requests(draw_any(requests), self._key))

    def create_batch(
        self,
        requests_ids: Sequence[str],
        *,
        metadata: Mapping[str, Any] | None = None,
        webhook: str | None = None,
    ) -> BatchCreated:
        """As `Overnight.create_batch`."""
        return run(self._operations.create_batch(requests_ids, metadata, webhook, self._key))
