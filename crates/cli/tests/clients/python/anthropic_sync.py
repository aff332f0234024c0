"""The package anthropic: messages, batches of messages, models and errors."""

import anthropic

from support import (
    BAD_KEY, KEY, LIKELIEST, MODEL, TOKENS, URL, WAITING_MODEL, poll, raises, rows, same, seen_natively,
    wait_for_requests,
)

BASE_URL = f"{URL}/anthropic"
client = anthropic.Anthropic(base_url=BASE_URL, api_key=KEY, timeout=60, max_retries=0)


def params(content, model=MODEL):
    return {"model": model, "max_tokens": TOKENS, "messages": [{"role": "user", "content": content}]}


def requests(count, model=MODEL):
    asked = [{**params(f"Say {number}", model), **LIKELIEST} for number in range(count)]
    return [{"custom_id": f"row-{number}", "params": it} for number, it in enumerate(asked)]


def models():
    assert MODEL in [model.id for model in client.models.list()]
    same(client.models.retrieve(MODEL).id, MODEL)


def messages():
    message = client.messages.create(**params("Hello"), extra_body=LIKELIEST, system="Be brief")
    same((message.type, message.role, message.model), ("message", "assistant", MODEL))
    assert message.content[0].text and message.stop_reason in ("end_turn", "max_tokens"), message
    assert 0 < message.usage.output_tokens <= TOKENS and message.usage.input_tokens > 0, message
    with client.messages.stream(**params("Hello"), extra_body=LIKELIEST) as stream:
        text = "".join(stream.text_stream)
        same(stream.get_final_message().content[0].text, text)
    types = [event.type for event in client.messages.create(**params("Hello"), extra_body=LIKELIEST, stream=True)]
    same((types[0], types[-1]), ("message_start", "message_stop"))


def end(batch):
    return poll(lambda: client.messages.batches.retrieve(batch.id), lambda batch: batch.processing_status == "ended")


def native_id(batch):
    return batch.id.replace("msgbatch_", "batch_")


def batches():
    bad = {"custom_id": "bad", "params": {**params("x"), "messages": []}}
    created = client.messages.batches.create(requests=[*requests(6), bad])
    same((created.type, created.request_counts.succeeded), ("message_batch", 0))
    batch = end(created)
    counts = batch.request_counts
    same((counts.succeeded, counts.errored, counts.processing), (6, 1, 0))
    assert batch.created_at <= batch.ended_at < batch.expires_at, batch
    results = list(client.messages.batches.results(batch.id))
    succeeded = [result for result in results if result.result.type == "succeeded"]
    same(sorted(result.custom_id for result in succeeded), rows(6))
    assert all(result.result.message.content[0].text for result in succeeded), results
    errored = [result for result in results if result.result.type == "errored"]
    same([(result.custom_id, result.result.error.error.type) for result in errored], [("bad", "invalid_request_error")])
    seen_natively(native_id(batch), "completed", completed=6, failed=1)

    waiting = client.messages.batches.create(requests=requests(4, WAITING_MODEL))
    wait_for_requests(native_id(waiting), 4)
    assert client.messages.batches.cancel(waiting.id).processing_status in ("canceling", "ended")
    waiting = end(waiting)
    assert waiting.cancel_initiated_at <= waiting.ended_at, waiting
    same(waiting.request_counts.canceled, 4)
    same({result.result.type for result in client.messages.batches.results(waiting.id)}, {"canceled"})
    seen_natively(native_id(waiting), "cancelled", cancelled=4)

    same([batch.id for batch in client.messages.batches.list(limit=1)], [waiting.id, batch.id])
    page = client.messages.batches.list(limit=1, after_id=waiting.id)
    same(([batch.id for batch in page.data], page.has_next_page()), ([batch.id], False))
    same(client.messages.batches.delete(waiting.id).id, waiting.id)
    raises(anthropic.NotFoundError, lambda: client.messages.batches.retrieve(waiting.id))


def errors():
    stranger = anthropic.Anthropic(base_url=BASE_URL, api_key=BAD_KEY, timeout=60, max_retries=0)
    raises(anthropic.AuthenticationError, stranger.models.list)
    raises(anthropic.NotFoundError, lambda: client.messages.batches.cancel("msgbatch_none"))
    raises(anthropic.NotFoundError, lambda: client.models.retrieve("none"))
    bad = raises(anthropic.BadRequestError, lambda: client.messages.create(**{**params("x"), "messages": []}))
    same((bad.body["type"], bad.body["error"]["type"]), ("error", "invalid_request_error"))
    raises(anthropic.BadRequestError, lambda: client.messages.batches.create(requests=[]))
    waiting = client.messages.batches.create(requests=requests(1, WAITING_MODEL))
    raises(anthropic.BadRequestError, lambda: client.messages.batches.delete(waiting.id))


for part in (models, messages, batches, errors):
    part()
    print("ok", part.__name__, flush=True)
