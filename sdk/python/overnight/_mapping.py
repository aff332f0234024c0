"""Rows in, answers out: every row becomes a request, the requests a batch, and the batch is followed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Generic, TypeVar

from overnight._bulk import to_line
from overnight._calls import check_key, derive_key, new_key
from overnight._operations import Operations
from overnight._ordering import in_order
from overnight._progress import Progress, Report, finish, reporter
from overnight._rows import Prompt, ask, count, draw_any
from overnight._schemas import Form, SchemaModel, form_of
from overnight.errors import InvalidCallError, InvalidInputError
from overnight.records import CreateRequest, Json, Model, Request

T = TypeVar("T")

FAULT_CHARS_MAX = 300
PATIENCE_S = 600.0
"""How long a map waits for a service that is away, before it raises."""
BATCH_REQUESTS_MAX = 100_000
"""How many requests a batch has at most."""


_Grouped = tuple[str, set[str] | None]
"""A batch, and those of its requests that are of the map: all of them for `None`."""


@dataclass(frozen=True)
class AnswerError:
    """Why a row has no answer."""

    code: str
    """That of the failed request or of its refusal; `cancelled`; `invalid_answer`: the text has another form;
    `invalid_row`: the prompt does not fit the row."""
    message: str

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What became of a row."""

    index: int
    """The number of the row, from 0."""
    text: str | None
    """What the model wrote."""
    parsed: T | None
    """The same as a value, where a `schema` was given."""
    finish_reason: str | None
    """Why the model stopped: `stop`, `length`, …"""
    prompt_tokens: int
    completion_tokens: int
    cost: Decimal | None
    """Credits, by the prices at the begin of the map; `None` where the model is free."""
    error: AnswerError | None
    """Why there is no answer; `None` where there is one."""
    request: Request | None = field(repr=False)
    """The whole record; `None` where there is no request of the row."""


@dataclass
class Job:
    """A map: what is asked, and how far it is."""

    prompt: Prompt | None
    model: str | None
    system: str | None
    form: Form[Any]
    key: str
    """The idempotency key from which those of all calls come."""
    name: str | None
    is_ordered: bool
    report: Report
    progress: Progress
    parameters: Json
    batch_ids: list[str] = field(default_factory=list[str])
    prices: tuple[Decimal, Decimal] | None = None
    invalid: list[Answer[Any]] = field(default_factory=list[Answer[Any]])


def job(
    rows: object,
    prompt: Prompt | None,
    model: str | None,
    system: str | None,
    schema: type[SchemaModel] | Mapping[str, Any] | None,
    ordered: bool,
    key: str | None,
    name: str | None,
    progress: bool | Report | None,
    parameters: Json,
) -> Job:
    """A map that has not begun."""
    form = form_of(schema)
    if form.schema is not None and "response_format" in parameters:
        raise InvalidCallError("`schema` and `response_format` say the same: pass one of them")
    key = check_key(key) if key is not None else new_key()
    counts = Progress(count(rows))
    return Job(prompt, model, system, form, key, name, ordered, reporter(progress), counts, parameters)


async def answers(
    operations: Operations, job: Job, rows: Iterable[Any] | AsyncIterable[Any]
) -> AsyncGenerator[Answer[Any], None]:
    """The answers, in the order in which they come or in that of the rows."""
    source = _answers(operations, job, rows)
    try:
        async with aclosing(in_order(source) if job.is_ordered else source) as found:
            async for answer in found:
                yield answer
    finally:
        finish(job.report)


async def _answers(
    operations: Operations, job: Job, rows: Iterable[Any] | AsyncIterable[Any]
) -> AsyncGenerator[Answer[Any], None]:
    await _choose_model(operations, job)
    operations = operations.with_patience(PATIENCE_S)
    batches: list[_Grouped] = []
    waiting: list[str] = []
    outcomes = operations.create_requests(_requests(job, rows), derive_key(job.key, "map"))
    async with aclosing(outcomes):
        async for outcome in outcomes:
            job.progress.sent += 1
            if outcome.created is not None:
                waiting.append(outcome.created.id)
            elif outcome.error is not None:
                yield _count(job, _without_answer(outcome.line - 1, outcome.error.code, outcome.error.message))
            for invalid in _take_invalid(job):
                yield invalid
            job.report(job.progress)
            if len(waiting) == BATCH_REQUESTS_MAX:
                batches += await _group(operations, job, waiting)
                job.batch_ids = [batch_id for batch_id, _ in batches]
                waiting = []
    for invalid in _take_invalid(job):
        yield invalid
    batches += await _group(operations, job, waiting)
    job.batch_ids = [batch_id for batch_id, _ in batches]
    for batch_id, ours in batches:
        results = operations.follow_batch_results(batch_id, None)
        async with aclosing(results):
            async for request in results:
                if ours is None or request.id in ours:
                    yield _count(job, _answer(job, request))


def _count(job: Job, answer: Answer[Any]) -> Answer[Any]:
    job.progress.answered += 1
    job.progress.failed += answer.error is not None
    job.report(job.progress)
    return answer


async def _choose_model(operations: Operations, job: Job) -> None:
    """The model of the job, the only one of the service where none is named, with its prices."""
    models = await operations.list_models()
    if job.model is None:
        if len(models) != 1:
            names = ", ".join(model.id for model in models)
            raise InvalidCallError(f"name a `model`: {names or 'the service has none'}")
        job.model = models[0].id
    named = (model for model in models if job.model in (model.id, *model.aliases))
    job.prices = _prices(next(named, None))


def _prices(model: Model | None) -> tuple[Decimal, Decimal] | None:
    if model is None or (model.input_price is None and model.output_price is None):
        return None
    return Decimal(model.input_price or 0), Decimal(model.output_price or 0)


def _take_invalid(job: Job) -> list[Answer[Any]]:
    """The rows drawn since the last call about which nothing can be asked."""
    invalid, job.invalid = job.invalid, []
    job.progress.sent += len(invalid)
    return [_count(job, answer) for answer in invalid]


async def _requests(job: Job, rows: Iterable[Any] | AsyncIterable[Any]) -> AsyncIterator[bytes | None]:
    """The bodies. Raises `InvalidCallError` for the first row, before anything is sent. Later ones keep their place."""
    index = 0
    system: list[Json] = [{"role": "system", "content": job.system}] if job.system is not None else []
    shared: Json = {"model": job.model, **job.parameters}
    if job.form.response_format is not None:
        shared["response_format"] = job.form.response_format
    async for row in draw_any(rows):
        try:
            messages = system + ask(row, index, job.prompt)
            line = to_line(CreateRequest({**shared, "messages": messages}, metadata={"row": index}))
        except InvalidCallError as error:
            if index == 0:
                raise
            line = None
            job.invalid.append(_without_answer(index, "invalid_row", str(error)))
        yield line
        index += 1


async def _group(operations: Operations, job: Job, ids: list[str]) -> list[_Grouped]:
    """The batches of these requests: new ones, and those in which an earlier run with the same key put some."""
    batches: list[_Grouped] = []
    metadata = {"batch_name": job.name} if job.name is not None else None
    while ids:
        key = derive_key(job.key, *ids)
        try:
            batches.append(((await operations.create_batch(ids, metadata, None, key)).id, None))
            ids = []
        except InvalidInputError as error:
            if len(ids) > 1 and _are_too_many(error):
                middle = len(ids) // 2
                batches += await _group(operations, job, ids[:middle])
                ids = ids[middle:]
                continue
            batch_id, ours = await _find_batch(operations, error, ids)
            batches.append((batch_id, ours))
            ids = [identifier for identifier in ids if identifier not in ours]
    return batches


def _are_too_many(error: InvalidInputError) -> bool:
    """Whether the service groups fewer requests at once."""
    return any(detail.param == "requests_ids" and detail.code == "out_of_range" for detail in error.details)


async def _find_batch(operations: Operations, error: InvalidInputError, ids: list[str]) -> tuple[str, set[str]]:
    """A batch in which some of these requests are already, and which. Raises `error` where that was not why."""
    for detail in error.details:
        if detail.code == "in_another_batch" and detail.id is not None:
            request = await operations.get_request(detail.id)
            if request.batch_id is not None:
                batch = await operations.get_batch(request.batch_id)
                return batch.id, set(batch.requests_ids).intersection(ids)
    raise error


def _without_answer(index: int, code: str, message: str) -> Answer[Any]:
    return Answer(index, None, None, None, 0, 0, None, AnswerError(code, message), None)


def _answer(job: Job, request: Request) -> Answer[Any]:
    index = int((request.metadata or {})["row"])
    text, usage = request.text, request.usage
    error, parsed = error_of(request), None
    if text is not None and error is None:
        try:
            parsed = job.form.parse(text)
        except ValueError as fault:
            words = " ".join(str(fault).split())[:FAULT_CHARS_MAX]
            error = AnswerError("invalid_answer", f"the text ended with {request.finish_reason}: {words}")
    read, written = (usage.prompt_tokens, usage.completion_tokens) if usage else (0, 0)
    return Answer(index, text, parsed, request.finish_reason, read, written, _cost(job, read, written), error, request)


def _cost(job: Job, read: int, written: int) -> Decimal | None:
    """As the service charges it: rounded up to a billionth of a credit."""
    if job.prices is None:
        return None
    exact = (read * job.prices[0] + written * job.prices[1]) / 1_000_000
    return exact.quantize(Decimal("1e-9"), rounding="ROUND_CEILING")


def error_of(request: Request) -> AnswerError | None:
    """Why a request that has ended has no answer."""
    if request.failure is not None:
        return AnswerError(request.failure.code, request.failure.message)
    if request.status == "completed":
        return None
    return AnswerError(request.status, "the request was cancelled")
