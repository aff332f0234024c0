"""Every operation of `/v1`, as coroutines over either transport. Two modules give them to users."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import Any

from overnight import _calls, _lists
from overnight._bulk import Body, create_requests
from overnight._calls import Call
from overnight._core import Core
from overnight._reading import read
from overnight.errors import UnreadableError
from overnight.records import (
    Account,
    Batch,
    BatchCreated,
    BatchFilter,
    BatchStatus,
    BulkOutcome,
    CreateRequest,
    Json,
    Model,
    Request,
    RequestCreated,
    RequestFilter,
    RequestStatus,
    UsageFilter,
    UsageRecord,
)


class Operations:
    def __init__(self, core: Core) -> None:
        self.core = core

    def with_patience(self, seconds: float) -> Operations:
        """The same, which outlast an absence of the service of so many seconds."""
        return Operations(Core(self.core.transport, self.core.retries, seconds))

    async def create_request(self, request: CreateRequest, key: str) -> RequestCreated:
        call = _calls.create("requests", request.to_json(), key)
        return read(RequestCreated, _only(await self.core.answer(call)))

    def create_requests(
        self, bodies: AsyncIterator[Body] | AsyncIterator[bytes | None], key: str
    ) -> AsyncGenerator[BulkOutcome, None]:
        return create_requests(self.core, key, bodies)

    async def get_request(self, request_id: str) -> Request:
        return read(Request, _only(await self.core.answer(_calls.get("v1", "requests", request_id))))

    async def get_request_status(self, request_id: str) -> RequestStatus:
        return read(RequestStatus, await self.core.answer(_calls.get("v1", "requests", request_id, "status")))

    async def cancel_request(self, request_id: str) -> Request:
        return read(Request, await self.core.answer(_calls.cancel("requests", request_id)))

    async def delete_request(self, request_id: str) -> None:
        await self.core.answer(_calls.delete("requests", request_id))

    def list_requests(self, query: RequestFilter) -> AsyncGenerator[RequestStatus, None]:
        return _lists.pages(self.core, RequestStatus, "requests", {**query})

    def list_full_requests(self, query: RequestFilter) -> AsyncGenerator[Request, None]:
        return _lists.pages(self.core, Request, "requests", {**query, "full": True})

    async def create_batch(
        self, requests_ids: Sequence[str], metadata: Mapping[str, Any] | None, webhook: str | None, key: str
    ) -> BatchCreated:
        body: Json = {"requests_ids": list(requests_ids)}
        if metadata is not None:
            body["metadata"] = dict(metadata)
        if webhook is not None:
            body["webhook"] = webhook
        return read(BatchCreated, await self.core.answer(_calls.create("batches", body, key)))

    async def get_batch(self, batch_id: str) -> Batch:
        return read(Batch, await self.core.answer(_calls.get("v1", "batches", batch_id)))

    async def get_batch_status(self, batch_id: str) -> BatchStatus:
        return read(BatchStatus, await self.core.answer(_calls.get("v1", "batches", batch_id, "status")))

    def get_batch_requests(self, batch_id: str) -> AsyncGenerator[RequestStatus, None]:
        return _lists.lines(self.core, RequestStatus, _batch(batch_id, "requests"))

    def get_batch_results(self, batch_id: str, after: str | None) -> AsyncGenerator[Request, None]:
        return _lists.lines(self.core, Request, _batch(batch_id, "results", after=after))

    def follow_batch_results(self, batch_id: str, after: str | None) -> AsyncGenerator[Request, None]:
        return _lists.follow(self.core, batch_id, after)

    async def cancel_batch(self, batch_id: str) -> Batch:
        return read(Batch, await self.core.answer(_calls.cancel("batches", batch_id)))

    async def delete_batch(self, batch_id: str) -> None:
        await self.core.answer(_calls.delete("batches", batch_id))

    def list_batches(self, query: BatchFilter) -> AsyncGenerator[Batch, None]:
        return _lists.pages(self.core, Batch, "batches", {**query})

    async def list_models(self) -> list[Model]:
        answer = await self.core.answer(_calls.get("v1", "models"))
        return [read(Model, model) for model in answer["data"]]

    async def get_account(self) -> Account:
        return read(Account, await self.core.answer(_calls.get("v1", "account")))

    def list_usage(self, query: UsageFilter) -> AsyncGenerator[UsageRecord, None]:
        return _lists.places(self.core, UsageRecord, ("v1", "usage"), {**query, "limit": _lists.PAGE})


def _batch(batch_id: str, what: str, **query: object) -> Call:
    return _calls.get("v1", "batches", batch_id, what, **query)


def _only(answer: Any) -> Any:
    """The one element of an answer that is an array of one."""
    match answer:
        case [element]:
            return element  # pyright: ignore[reportUnknownVariableType]
        case _:
            raise UnreadableError("the answer is not an array of one")
