"""Rows in, vectors out: texts go as files of batch lines, which the service takes in its dialect of OpenAI's API, and
the batches are followed as others are."""

from __future__ import annotations

import array
import base64
import hashlib
import sys
from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

from overnight import _calls
from overnight._calls import Call, check_key, new_key
from overnight._lists import follow
from overnight._mapping import PATIENCE_S, AnswerError, error_of
from overnight._operations import Operations
from overnight._ordering import in_order
from overnight._progress import Progress, Report, finish, reporter
from overnight._rows import Text, count, draw_any, write
from overnight.errors import CutError, ErrorBody, InvalidInputError, NotFoundError, TransportError
from overnight.records import Json, Request

TEXTS_MAX = 64
"""How many texts one request has."""
FILE_BYTES_MAX = 32 << 20
"""How long a file is at most, unless one line alone is longer. It is in memory until it is sent."""
FILE_LINES_MAX = 10_000


@dataclass(frozen=True)
class Embedding:
    """The vector of a row."""

    index: int
    """The number of the row, from 0."""
    vector: list[float] | None = field(repr=False)
    """`None` where there is an error."""
    error: AnswerError | None


def embedding_job(
    rows: object,
    model: str,
    text: Text | None,
    ordered: bool,
    key: str | None,
    progress: bool | Report | None,
    parameters: Json,
) -> EmbeddingJob:
    """An embedding that has not begun."""
    key = check_key(key) if key is not None else new_key()
    return EmbeddingJob(model, text, key, ordered, reporter(progress), Progress(count(rows)), parameters)


@dataclass
class EmbeddingJob:
    """What is embedded, and how far it is."""

    model: str
    text: Text | None
    key: str
    is_ordered: bool
    report: Report
    progress: Progress
    parameters: Json
    lines: list[bytes] = field(default_factory=list[bytes])
    bytes: int = 0
    batch_ids: list[str] = field(default_factory=list[str])


async def embeddings(
    operations: Operations, job: EmbeddingJob, rows: Iterable[Any] | AsyncIterable[Any]
) -> AsyncGenerator[Embedding, None]:
    """The vectors, in the order in which they come or in that of the rows."""
    source = _embeddings(operations.with_patience(PATIENCE_S), job, rows)
    try:
        async with aclosing(in_order(source) if job.is_ordered else source) as found:
            async for embedding in found:
                yield embedding
    finally:
        finish(job.report)


async def _embeddings(
    operations: Operations, job: EmbeddingJob, rows: Iterable[Any] | AsyncIterable[Any]
) -> AsyncGenerator[Embedding, None]:
    texts: list[str] = []
    async for row in draw_any(rows):
        index = job.progress.sent
        texts.append(write(row, index, job.text))
        job.progress.sent += 1
        if len(texts) == TEXTS_MAX:
            await _add_line(operations, job, texts)
            texts = []
        job.report(job.progress)
    if texts:
        await _add_line(operations, job, texts)
    if job.lines:
        await _send_file(operations, job)
    for batch_id in job.batch_ids:
        async with aclosing(follow(operations.core, batch_id, None)) as requests:
            async for request in requests:
                for embedding in _read(request):
                    job.progress.answered += 1
                    job.progress.failed += embedding.error is not None
                    job.report(job.progress)
                    yield embedding


async def _add_line(operations: Operations, job: EmbeddingJob, texts: list[str]) -> None:
    """Puts a request for these texts, the last ones drawn, into the file."""
    body = {"model": job.model, "input": texts, "encoding_format": "base64", **job.parameters}
    first = str(job.progress.sent - len(texts))
    line = _calls.to_json({"custom_id": first, "method": "POST", "url": "/v1/embeddings", "body": body})
    if job.lines and (job.bytes + len(line) > FILE_BYTES_MAX or len(job.lines) == FILE_LINES_MAX):
        await _send_file(operations, job)
    job.lines.append(line)
    job.bytes += len(line)


async def _send_file(operations: Operations, job: EmbeddingJob) -> None:
    """Makes a batch of the lines so far."""
    content = b"\n".join(job.lines)
    job.lines, job.bytes = [], 0
    key = _calls.derive_key(job.key, "embed", len(job.batch_ids))
    file = await operations.core.answer(_upload(content, key))
    body = {"input_file_id": file["id"], "endpoint": "/v1/embeddings", "completion_window": "24h"}
    batch: Json = await operations.core.answer(_calls.create("batches", body, key, "/openai"))
    # The batch has what it needs of the file, and a run that goes on finds it gone.
    with suppress(NotFoundError, TransportError, CutError):
        await operations.core.answer(_calls.delete("files", file["id"], "/openai"))
    if batch["status"] == "failed":
        fault: Json = batch["errors"]["data"][0]
        raise InvalidInputError(422, ErrorBody(fault["message"], "invalid_request_error", fault["code"]))
    job.batch_ids.append(batch["id"])


def _upload(content: bytes, key: str) -> Call:
    """A form with a file. The same content makes the same form, so that a repeat is one."""
    boundary = hashlib.sha256(content).hexdigest()
    parts = [
        (b'name="purpose"\r\n', b"batch"),
        (b'name="file"; filename="texts.jsonl"\r\nContent-Type: application/jsonl\r\n', content),
    ]
    form = b"".join(
        b"--%b\r\nContent-Disposition: form-data; %b\r\n%b\r\n" % (boundary.encode(), head, body)
        for head, body in parts
    )
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}", "Idempotency-Key": key}
    return Call("POST", "/openai/v1/files", headers=headers, content=form + b"--%b--\r\n" % boundary.encode())


def _read(request: Request) -> list[Embedding]:
    """The vectors of the texts of a request."""
    first = int((request.metadata or {})["custom_id"])
    count = len(request.request_body["input"])
    error = error_of(request)
    if error is not None or request.result_body is None:
        return [Embedding(first + place, None, error) for place in range(count)]
    data: list[Json] = sorted(request.result_body["data"], key=lambda item: item["index"])
    return [Embedding(first + place, _vector(item["embedding"]), None) for place, item in enumerate(data)]


def _vector(embedding: list[float] | str) -> list[float]:
    if not isinstance(embedding, str):
        return embedding
    numbers = array.array("f", base64.b64decode(embedding))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tolist()
