"""The package openai: files, uploads in parts, batches, chat completions, responses, models and errors."""

import hashlib
import json
import os
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import openai

from support import (
    BAD_KEY, KEY, LIKELIEST, MODEL, TOKENS, URL, WAITING_MODEL, chat, custom_ids, line, lines, poll, raises, response_lines,
    rows, same, seen_natively, wait_for_requests,
)

BASE_URL = f"{URL}/openai/v1"
client = openai.OpenAI(base_url=BASE_URL, api_key=KEY, timeout=60, max_retries=0)


def models():
    names = [model.id for model in client.models.list()]
    assert MODEL in names, names
    model = client.models.retrieve(MODEL)
    same((model.id, model.object), (MODEL, "model"))


def files():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.jsonl")
        path.write_bytes(lines(3))
        of_path = client.files.create(file=path, purpose="batch")
    same((of_path.filename, of_path.bytes, of_path.purpose), ("rows.jsonl", len(lines(3)), "batch"))
    same((of_path.object, of_path.status, of_path.expires_at), ("file", "processed", None))
    of_bytes = client.files.create(file=lines(2), purpose="batch")
    lasting = {"anchor": "created_at", "seconds": 3600}
    named = ("named.jsonl", lines(1), "application/jsonl")
    of_tuple = client.files.create(file=named, purpose="batch", expires_after=lasting)
    same(of_tuple.filename, "named.jsonl")
    same(of_tuple.expires_at, of_tuple.created_at + 3600)

    created = [of_path.id, of_bytes.id, of_tuple.id]
    same([file.id for file in client.files.list(limit=1, order="asc")], created)
    same([file.id for file in client.files.list()], created[::-1])
    same(client.files.retrieve(of_path.id), of_path)
    same(client.files.wait_for_processing(of_path.id, poll_interval=0.1).status, "processed")
    same(client.files.content(of_path.id).read(), lines(3))
    for file in created:
        same(client.files.delete(file).deleted, True)
    same(list(client.files.list()), [])
    raises(openai.NotFoundError, lambda: client.files.retrieve(of_path.id))


def uploads():
    content = lines(50)
    kind = {"filename": "rows.jsonl", "bytes": len(content), "mime_type": "application/jsonl", "purpose": "batch"}
    md5 = hashlib.md5(content).hexdigest()
    upload = client.uploads.upload_file_chunked(file=content, part_size=1_001, md5=md5, **kind)
    same((upload.status, upload.file.status, upload.file.bytes), ("completed", "processed", len(content)))
    same(client.files.content(upload.file.id).read(), content)
    client.files.delete(upload.file.id)

    pending = client.uploads.create(**kind)
    same((pending.object, pending.status, pending.file), ("upload", "pending", None))
    last = client.uploads.parts.create(pending.id, data=content[700:])
    first = client.uploads.parts.create(pending.id, data=content[:700])
    same((first.object, first.upload_id), ("upload.part", pending.id))
    parts = [first.id, last.id]
    for wrong in ({"part_ids": [first.id]}, {"part_ids": [first.id, "part_none"]}, {"part_ids": parts, "md5": "0" * 32}):
        raises(openai.BadRequestError, lambda: client.uploads.complete(pending.id, **wrong))
    completed = client.uploads.complete(pending.id, part_ids=parts)
    same(client.files.content(completed.file.id).read(), content)
    same(client.uploads.complete(pending.id, part_ids=parts), completed)
    raises(openai.ConflictError, lambda: client.uploads.cancel(pending.id))
    client.files.delete(completed.file.id)

    cancelled = client.uploads.create(**kind)
    same(client.uploads.cancel(cancelled.id).status, "cancelled")
    raises(openai.ConflictError, lambda: client.uploads.parts.create(cancelled.id, data=content))
    raises(openai.NotFoundError, lambda: client.uploads.cancel("upload_none"))


def create_batch(content, endpoint="/v1/chat/completions", **more):
    file = client.files.create(file=("rows.jsonl", content), purpose="batch")
    batch = client.batches.create(
        input_file_id=file.id, endpoint=endpoint, completion_window="24h", **more
    )
    same((batch.object, batch.input_file_id, batch.endpoint), ("batch", file.id, endpoint))
    return batch


def end(batch):
    ends = ("completed", "failed", "expired", "cancelled")
    return poll(lambda: client.batches.retrieve(batch.id), lambda batch: batch.status in ends)


def batches():
    created = create_batch(lines(20), metadata={"job": "nightly"})
    same((created.status in ("validating", "in_progress"), created.completion_window), (True, "24h"))
    batch = end(created)
    same((batch.status, batch.metadata, batch.errors), ("completed", {"job": "nightly"}, None))
    counts = batch.request_counts
    same((counts.total, counts.completed, counts.failed), (20, 20, 0))
    same((batch.error_file_id, batch.expires_at - batch.created_at), (None, 24 * 3600))
    assert batch.created_at <= batch.in_progress_at <= batch.completed_at, batch
    output = client.files.content(batch.output_file_id)
    same(custom_ids(output.text), rows(20))
    for answer in map(json.loads, output.text.splitlines()):
        same((answer["response"]["status_code"], answer["error"]), (200, None))
        completion = answer["response"]["body"]
        same((completion["object"], completion["usage"]["completion_tokens"] <= TOKENS), ("chat.completion", True))
        assert isinstance(completion["choices"][0]["message"]["content"], str), answer
    file = client.files.retrieve(batch.output_file_id)
    same((file.purpose, file.bytes), ("batch_output", len(output.read())))
    seen_natively(batch.id, "completed", completed=20)
    same(client.files.delete(batch.output_file_id).deleted, True)
    same(client.batches.retrieve(batch.id).output_file_id, None)


def batch_of_responses():
    batch = end(create_batch(response_lines(3), "/v1/responses"))
    same((batch.status, batch.request_counts.completed), ("completed", 3))
    text = client.files.content(batch.output_file_id).text
    same(custom_ids(text), rows(3))
    same({json.loads(answer)["response"]["body"]["object"] for answer in text.splitlines()}, {"response"})


def batch_of_bad_lines():
    content = lines(1) + b"no JSON\n" + line("row-1", chat("x", "unknown")).encode()
    batch = end(create_batch(content))
    same((batch.status, batch.output_file_id, batch.request_counts.total), ("failed", None, 0))
    same([error.line for error in batch.errors.data], [2, 3])
    assert all(error.code and error.message for error in batch.errors.data), batch.errors
    assert batch.failed_at >= batch.created_at, batch


def batch_that_is_cancelled():
    created = create_batch(lines(4, WAITING_MODEL))
    wait_for_requests(created.id, 4)
    batch = client.batches.cancel(created.id)
    assert batch.status in ("cancelling", "cancelled"), batch
    batch = end(batch)
    same((batch.status, batch.output_file_id), ("cancelled", None))
    assert batch.created_at <= batch.cancelling_at <= batch.cancelled_at, batch
    seen_natively(batch.id, "cancelled", cancelled=4)
    text = client.files.content(batch.error_file_id).text
    same(custom_ids(text), rows(4))
    same({json.loads(error)["error"]["code"] for error in text.splitlines()}, {"batch_cancelled"})


def webhooks():
    """The events of an ended batch, as the client reads them."""
    told = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            told.append((self.rfile.read(int(self.headers["content-length"])), dict(self.headers)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    batch = end(create_batch(lines(1), extra_body={"webhook": address}))
    body, headers = poll(lambda: told, len)[0]
    secret = os.environ["CLIENT_WEBHOOK_SECRET"]
    event = client.webhooks.unwrap(body, headers, secret=secret)
    same((event.type, event.data.id), ("batch.completed", batch.id))
    same((event.id, event.created_at), (headers["webhook-id"], batch.completed_at))
    forged = body.replace(b"completed", b"cancelled")
    raises(
        openai.InvalidWebhookSignatureError, lambda: client.webhooks.verify_signature(forged, headers, secret=secret)
    )
    server.shutdown()


def list_batches():
    all_of_them = [batch.id for batch in client.batches.list()]
    same([batch.id for batch in client.batches.list(limit=1)], all_of_them)
    same(len(all_of_them), 5)
    page = client.batches.list(limit=4, after=all_of_them[0])
    same(([batch.id for batch in page.data], page.has_next_page()), (all_of_them[1:], False))


def completions():
    completion = client.chat.completions.create(**chat("Hello"), metadata={"job": "one"})
    same((completion.object, completion.choices[0].message.role), ("chat.completion", "assistant"))
    assert 0 < completion.usage.completion_tokens <= TOKENS, completion
    raw = client.chat.completions.with_raw_response.create(**chat("Hello"))
    assert raw.headers["x-overnight-request"].startswith("req_"), raw.headers
    assert raw.parse().choices[0].message.content, raw.text

    text, usage = "", None
    for chunk in client.chat.completions.create(**chat("Hello"), stream=True, stream_options={"include_usage": True}):
        same(chunk.object, "chat.completion.chunk")
        usage = chunk.usage or usage
        text += "".join(choice.delta.content or "" for choice in chunk.choices)
    assert text and usage.completion_tokens <= TOKENS, (text, usage)

    once = {"Idempotency-Key": "row-17"}
    first = client.chat.completions.create(**chat("Once"), extra_headers=once)
    same(client.chat.completions.create(**chat("Once"), extra_headers=once), first)
    again = raises(
        openai.UnprocessableEntityError, lambda: client.chat.completions.create(**chat("Twice"), extra_headers=once)
    )
    same(again.code, "idempotency_key_reused")


def responses():
    asked = {"model": MODEL, "input": "Hello", "max_output_tokens": 8, **LIKELIEST}
    response = client.responses.create(**asked, instructions="Be brief")
    assert response.status in ("completed", "incomplete") and response.output_text, response
    same(client.responses.retrieve(response.id).output_text, response.output_text)
    items = list(client.responses.input_items.list(response.id))
    same((items[0].role, items[0].content[0].text), ("user", "Hello"))

    events = list(client.responses.create(**asked, stream=True))
    same(events[0].type, "response.created")
    assert events[-1].type in ("response.completed", "response.incomplete"), events
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    same(events[-1].response.output_text, text)
    same([event.sequence_number for event in events], list(range(len(events))))
    with client.responses.stream(**asked) as stream:
        types = [event.type for event in stream]
    assert "response.output_text.done" in types, types

    background = client.responses.create(**asked, background=True)
    assert background.status in ("queued", "in_progress"), background
    ended = ("completed", "incomplete", "failed", "cancelled")
    read = poll(lambda: client.responses.retrieve(background.id), lambda response: response.status in ended)
    assert read.status in ("completed", "incomplete") and read.output_text, read
    client.responses.delete(background.id)
    raises(openai.NotFoundError, lambda: client.responses.retrieve(background.id))

    waiting = client.responses.create(**{**asked, "model": WAITING_MODEL}, background=True)
    same((waiting.status, client.responses.cancel(waiting.id).status), ("queued", "cancelled"))
    same(client.responses.retrieve(waiting.id).status, "cancelled")


def errors():
    stranger = openai.OpenAI(base_url=BASE_URL, api_key=BAD_KEY, timeout=60, max_retries=0)
    same(raises(openai.AuthenticationError, stranger.models.list).status_code, 401)
    raises(openai.AuthenticationError, lambda: stranger.files.create(file=lines(1), purpose="batch"))
    raises(openai.NotFoundError, lambda: client.batches.retrieve("batch_none"))
    raises(openai.NotFoundError, lambda: client.batches.cancel("batch_none"))
    raises(openai.NotFoundError, lambda: client.files.content("file-none"))
    raises(openai.NotFoundError, lambda: client.responses.retrieve("resp_none"))
    raises(openai.NotFoundError, lambda: client.models.retrieve("none"))
    bad = raises(openai.BadRequestError, lambda: client.chat.completions.create(model=MODEL, messages=[]))
    same((bad.status_code, bad.param, bad.type), (400, "messages", "invalid_request_error"))
    raises(openai.BadRequestError, lambda: client.files.create(file=lines(1), purpose="fine-tune"))
    unknown = raises(
        openai.BadRequestError,
        lambda: client.batches.create(
            input_file_id="file-none", endpoint="/v1/chat/completions", completion_window="24h"
        ),
    )
    same(unknown.param, "input_file_id")


for part in (
    models, files, uploads, batches, batch_of_responses, batch_of_bad_lines, batch_that_is_cancelled, webhooks, list_batches,
    completions, responses, errors,
):
    part()
    print("ok", part.__name__, flush=True)
