# Generated from async_client.py by generate_sync.py; do not edit.
"""The client whose calls block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, overload

import httpx

from overnight import _mapping
from overnight._admin_operations import AdminOperations
from overnight._bulk import Body
from overnight._calls import new_key
from overnight._core import RETRIES_DEFAULT, Core
from overnight._embedding import Embedding, embedding_job, embeddings
from overnight._framing import FrameColumns
from overnight._operations import Operations
from overnight._progress import Report
from overnight._rows import Prompt, Text
from overnight._schemas import M, SchemaModel
from overnight._settings import find_target
from overnight._transport import SyncTransport, iterate, run
from overnight.administration import Administration
from overnight.answers import Answers
from overnight.once import Once
from overnight.records import (
    Account,
    Batch,
    BatchCreated,
    BatchFilter,
    BatchStatus,
    BulkOutcome,
    Model,
    Request,
    RequestCreated,
    RequestFilter,
    RequestStatus,
    UsageFilter,
    UsageRecord,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

F = TypeVar("F")


class Overnight:
    """Calls one service with one API key.

    `base_url` and `api_key` come from `OVERNIGHT_URL` and `OVERNIGHT_API_KEY` where they are not given, else from the
    folder `overnight-data` in the working directory, which `overnight serve` makes there.

    What can be repeated without harm is repeated at most `retries` times, with growing pauses, when the service cannot
    be reached or has too much to do. Every create carries an idempotency key, so a repeat creates nothing twice.

    Methods raise an `OvernightError`: an `APIError` where the service refuses.
    """

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        retries: int = RETRIES_DEFAULT,
        http_client: httpx.Client | None = None,
    ) -> None:
        target = find_target(base_url, api_key)
        self.base_url = target.base_url
        self._operations = Operations(Core(SyncTransport(target, http_client), retries))

    def __enter__(self) -> Overnight:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        run(self._operations.core.transport.close())

    def once(self, key: str) -> Once:
        """Creates with this idempotency key, 1 to 255 visible ASCII characters: the same call with the same key is done
        once within 48 hours, whoever sends it and whatever broke in between."""
        return Once(self._operations, key)

    def create_request(
        self,
        request_body: Mapping[str, Any],
        *,
        metadata: Mapping[str, Any] | None = None,
        webhook: str | None = None,
    ) -> RequestCreated:
        """Asks for a chat completion. Once this returns, the request outlives a crash of the service."""
        return self.once(new_key()).create_request(request_body, metadata=metadata, webhook=webhook)

    def create_requests(self, requests: Iterable[Body]) -> Iterator[BulkOutcome]:
        """Creates many requests: `CreateRequest`s, or bodies of chat completions. The outcomes come in the same order;
        a refused body has an `error`, and the others go in. Requests are drawn as they are sent, at most 1,024 at a
        time."""
        return self.once(new_key()).create_requests(requests)

    def get_request(self, request_id: str) -> Request:
        """The whole request, with its result once it has ended."""
        return run(self._operations.get_request(request_id))

    def get_request_status(self, request_id: str) -> RequestStatus:
        """How the request stands."""
        return run(self._operations.get_request_status(request_id))

    def cancel_request(self, request_id: str) -> Request:
        """Ends the request without a result. One that is cancelled already stays so."""
        return run(self._operations.cancel_request(request_id))

    def delete_request(self, request_id: str) -> None:
        """Deletes a request that has ended, with its body, metadata and result."""
        run(self._operations.delete_request(request_id))

    def list_requests(self, **filter: Unpack[RequestFilter]) -> Iterator[RequestStatus]:
        """How the requests stand, read page by page."""
        return iterate(self._operations.list_requests(filter))

    def list_full_requests(self, **filter: Unpack[RequestFilter]) -> Iterator[Request]:
        """The whole requests, read page by page."""
        return iterate(self._operations.list_full_requests(filter))

    def create_batch(
        self,
        requests_ids: Sequence[str],
        *,
        metadata: Mapping[str, Any] | None = None,
        webhook: str | None = None,
    ) -> BatchCreated:
        """Groups requests that are in no batch yet: all of them or none."""
        return self.once(new_key()).create_batch(requests_ids, metadata=metadata, webhook=webhook)

    def get_batch(self, batch_id: str) -> Batch:
        """The whole batch, with the list of its requests."""
        return run(self._operations.get_batch(batch_id))

    def get_batch_status(self, batch_id: str) -> BatchStatus:
        """How the batch stands."""
        return run(self._operations.get_batch_status(batch_id))

    def get_batch_requests(self, batch_id: str) -> Iterator[RequestStatus]:
        """How the requests of the batch stand."""
        return iterate(self._operations.get_batch_requests(batch_id))

    def get_batch_results(self, batch_id: str, *, after: str | None = None) -> Iterator[Request]:
        """The requests of the batch, ended or not; or those that ended after the request `after` until now."""
        return iterate(self._operations.get_batch_results(batch_id, after))

    def follow_batch_results(self, batch_id: str, *, after: str | None = None) -> Iterator[Request]:
        """The requests of the batch in the order in which they end, each once, until all have ended; from the first, or
        after the request `after`. A connection that breaks is made again, and the list goes on."""
        return iterate(self._operations.follow_batch_results(batch_id, after))

    def cancel_batch(self, batch_id: str) -> Batch:
        """Ends the batch and those of its requests that have not ended."""
        return run(self._operations.cancel_batch(batch_id))

    def delete_batch(self, batch_id: str) -> None:
        """Deletes a batch that has ended, with its requests."""
        run(self._operations.delete_batch(batch_id))

    def list_batches(self, **filter: Unpack[BatchFilter]) -> Iterator[Batch]:
        """The batches, read page by page."""
        return iterate(self._operations.list_batches(filter))

    def list_models(self) -> list[Model]:
        """The models that requests may name, with their prices."""
        return run(self._operations.list_models())

    def get_account(self) -> Account:
        """The account of the key, its credits and its quotas."""
        return run(self._operations.get_account())

    def list_usage(self, **query: Unpack[UsageFilter]) -> Iterator[UsageRecord]:
        """What the account completed and was charged for, by any of day, model and API key, read page by page."""
        return iterate(self._operations.list_usage(query))

    @property
    def administration(self) -> Administration:
        """What the key may do to every account, if it has the scope `admin`."""
        return Administration(AdminOperations(self._operations.core))

    @overload
    def map(
        self,
        rows: Iterable[Any],
        *,
        prompt: Prompt | None = None,
        model: str | None = None,
        system: str | None = None,
        schema: type[M],
        ordered: bool = False,
        key: str | None = None,
        name: str | None = None,
        progress: bool | Report | None = None,
        **parameters: Any,
    ) -> Answers[M]: ...

    @overload
    def map(
        self,
        rows: Iterable[Any],
        *,
        prompt: Prompt | None = None,
        model: str | None = None,
        system: str | None = None,
        schema: Mapping[str, Any] | None = None,
        ordered: bool = False,
        key: str | None = None,
        name: str | None = None,
        progress: bool | Report | None = None,
        **parameters: Any,
    ) -> Answers[Any]: ...

    def map(
        self,
        rows: Iterable[Any],
        *,
        prompt: Prompt | None = None,
        model: str | None = None,
        system: str | None = None,
        schema: type[SchemaModel] | Mapping[str, Any] | None = None,
        ordered: bool = False,
        key: str | None = None,
        name: str | None = None,
        progress: bool | Report | None = None,
        **parameters: Any,
    ) -> Answers[Any]:
        """Asks a model about every row and yields the answers as they come.

        `rows` are dicts, texts, or a DataFrame of pandas or polars. All are sent first, in bulk, as they are drawn, so
        an iterator of any length takes little memory. They are grouped in one batch, or one for each 100,000, which is
        then followed. Answers come in the order in which requests end; with `ordered` in that of the rows, where early
        ones wait in memory.

        `prompt` is a format string with `{column}`, or a function of the row that returns a text or a list of messages;
        without it rows are texts. `system` comes first in every request, so engines compute it once. `model` may be
        left out where the service has one. `schema`, a `pydantic` model class or a JSON schema, forces the form of the
        answers and gives `Answer.parsed`. Other `parameters` (`max_tokens`, `temperature`, …) go into the bodies.

        A row that is refused or fails has an answer with an `error`. Nothing is raised for a row but for the first, if
        the prompt does not fit it, before anything is sent.

        With a `key`, the same call with the same rows goes on where an earlier one was interrupted, within 48 hours:
        requests are not created again, and all answers are yielded. Whoever leaves the loop leaves the requests
        running; `Answers.batch_ids` are what to cancel. `name` becomes the metadata `batch_name`. `progress` shows
        a line: by default on terminals and in notebooks; a function is called with a `Progress`."""
        job = _mapping.job(rows, prompt, model, system, schema, ordered, key, name, progress, parameters)
        return Answers(self._operations, job, rows)

    def map_frame(
        self,
        frame: F,
        *,
        prompt: Prompt,
        model: str | None = None,
        system: str | None = None,
        schema: type[SchemaModel] | Mapping[str, Any] | None = None,
        prefix: str = "",
        key: str | None = None,
        name: str | None = None,
        progress: bool | Report | None = None,
        **parameters: Any,
    ) -> F:
        """A DataFrame of pandas or polars with the answers as columns: `answer`, `finish_reason`, `prompt_tokens`,
        `completion_tokens`, `cost`, `error`, and with a `schema` one for each member of an answer. All of them begin
        with `prefix`. The rest is as in `map`."""
        job = _mapping.job(frame, prompt, model, system, schema, False, key, name, progress, parameters)
        columns = FrameColumns(frame, job, prefix)
        for answer in Answers[Any](self._operations, job, frame):
            columns.fill(answer)
        return columns.added_to(frame)

    def embed(
        self,
        rows: Iterable[Any],
        *,
        model: str,
        text: Text | None = None,
        ordered: bool = False,
        key: str | None = None,
        progress: bool | Report | None = None,
        **parameters: Any,
    ) -> Iterator[Embedding]:
        """The vector of each row, in the order in which they come; with `ordered` in that of the rows.

        `rows` are as in `map`. `text` is a format string with `{column}`, or a function of the row; without it rows are
        texts. They go as files of up to 32 MiB, 64 texts a request, and are one batch a file. `key` and `progress` are
        as in `map`; other `parameters` (`dimensions`, …) go into the bodies.

        The model must be served by an engine of embeddings. Raises `InvalidInputError` where the service refuses a
        text; an embedding that fails has an `error`."""
        job = embedding_job(rows, model, text, ordered, key, progress, parameters)
        return iterate(embeddings(self._operations, job, rows))
