"""The package anthropic, asynchronous: messages, streams, batches of messages and errors."""

import asyncio

import anthropic

from support import (
    BAD_KEY, KEY, LIKELIEST, MODEL, TOKENS, URL, WAITING_MODEL, poll_async, raises_async, rows, same, seen_natively,
    wait_for_requests,
)

BASE_URL = f"{URL}/anthropic"


def params(content, model=MODEL):
    return {"model": model, "max_tokens": TOKENS, "messages": [{"role": "user", "content": content}]}


def requests(count, model=MODEL):
    asked = [{**params(f"Say {number}", model), **LIKELIEST} for number in range(count)]
    return [{"custom_id": f"row-{number}", "params": it} for number, it in enumerate(asked)]


async def messages(client):
    same(MODEL in [model.id async for model in client.models.list()], True)
    asked = [client.messages.create(**params(f"Say {number}"), extra_body=LIKELIEST) for number in range(8)]
    for message in await asyncio.gather(*asked):
        same((message.role, message.content[0].type), ("assistant", "text"))
    async with client.messages.stream(**params("Hello"), extra_body=LIKELIEST) as stream:
        text = "".join([piece async for piece in stream.text_stream])
        same((await stream.get_final_message()).content[0].text, text)


async def end(client, batch):
    read = lambda: client.messages.batches.retrieve(batch.id)
    return await poll_async(read, lambda batch: batch.processing_status == "ended")


def native_id(batch):
    return batch.id.replace("msgbatch_", "batch_")


async def batches(client):
    batch = await end(client, await client.messages.batches.create(requests=requests(5)))
    same(batch.request_counts.succeeded, 5)
    results = [result async for result in await client.messages.batches.results(batch.id)]
    same(sorted(result.custom_id for result in results), rows(5))
    same({result.result.type for result in results}, {"succeeded"})
    seen_natively(native_id(batch), "completed", completed=5)
    waiting = await client.messages.batches.create(requests=requests(2, WAITING_MODEL))
    wait_for_requests(native_id(waiting), 2)
    await client.messages.batches.cancel(waiting.id)
    same((await end(client, waiting)).request_counts.canceled, 2)
    same([batch.id async for batch in client.messages.batches.list(limit=1)], [waiting.id, batch.id])
    same((await client.messages.batches.delete(waiting.id)).id, waiting.id)


async def errors(client):
    await raises_async(anthropic.NotFoundError, lambda: client.messages.batches.retrieve("msgbatch_none"))
    await raises_async(anthropic.BadRequestError, lambda: client.messages.create(**{**params("x"), "messages": []}))
    async with anthropic.AsyncAnthropic(base_url=BASE_URL, api_key=BAD_KEY, timeout=60, max_retries=0) as stranger:
        await raises_async(anthropic.AuthenticationError, lambda: stranger.messages.create(**params("x")))


async def main():
    async with anthropic.AsyncAnthropic(base_url=BASE_URL, api_key=KEY, timeout=60, max_retries=0) as client:
        for part in (messages, batches, errors):
            await part(client)
            print("ok", part.__name__, flush=True)


asyncio.run(main())
