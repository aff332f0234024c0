"""The package openai, asynchronous: concurrent calls, files, batches, streams and errors."""

import asyncio
import json

import openai

from support import (
    BAD_KEY, KEY, LIKELIEST, MODEL, URL, WAITING_MODEL, chat, custom_ids, lines, poll_async, raises_async, rows, same,
    seen_natively, wait_for_requests,
)

BASE_URL = f"{URL}/openai/v1"


async def files(client):
    contents = [lines(count) for count in range(1, 4)]
    created = await asyncio.gather(*(client.files.create(file=content, purpose="batch") for content in contents))
    same({file.id async for file in client.files.list(limit=2)}, {file.id for file in created})
    for file, content in zip(created, contents):
        same((await client.files.content(file.id)).content, content)
        same((await client.files.retrieve(file.id)).bytes, len(content))
        same((await client.files.delete(file.id)).deleted, True)
    await raises_async(openai.NotFoundError, lambda: client.files.retrieve(created[0].id))


async def create_batch(client, content):
    file = await client.files.create(file=("rows.jsonl", content), purpose="batch")
    return await client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h", metadata={"job": "nightly"}
    )


async def end(client, batch):
    ends = ("completed", "failed", "expired", "cancelled")
    return await poll_async(lambda: client.batches.retrieve(batch.id), lambda batch: batch.status in ends)


async def batches(client):
    created = await asyncio.gather(*(create_batch(client, lines(count)) for count in (5, 6)))
    for count, batch in zip((5, 6), [await end(client, batch) for batch in created]):
        same((batch.status, batch.request_counts.completed, batch.metadata), ("completed", count, {"job": "nightly"}))
        seen_natively(batch.id, "completed", completed=count)
        text = (await client.files.content(batch.output_file_id)).text
        same(custom_ids(text), rows(count))
        assert all(json.loads(answer)["response"]["body"]["choices"] for answer in text.splitlines()), text
    failed = await end(client, await create_batch(client, b"no JSON\n"))
    same((failed.status, [error.line for error in failed.errors.data]), ("failed", [1]))
    waiting = await create_batch(client, lines(3, WAITING_MODEL))
    wait_for_requests(waiting.id, 3)
    await client.batches.cancel(waiting.id)
    same((await end(client, waiting)).status, "cancelled")
    seen_natively(waiting.id, "cancelled", cancelled=3)
    listed = [batch.id async for batch in client.batches.list(limit=1)]
    same((len(listed), listed[0]), (4, waiting.id))


async def completions(client):
    asked = [client.chat.completions.create(**chat(f"Say {number}")) for number in range(8)]
    for completion in await asyncio.gather(*asked):
        same(completion.choices[0].message.role, "assistant")
    text = ""
    async for chunk in await client.chat.completions.create(**chat("Hello"), stream=True):
        text += "".join(choice.delta.content or "" for choice in chunk.choices)
    assert text


async def responses(client):
    asked = {"model": MODEL, "input": "Hello", "max_output_tokens": 8, **LIKELIEST}
    response = await client.responses.create(**asked)
    assert response.output_text, response
    types = [event.type async for event in await client.responses.create(**asked, stream=True)]
    same((types[0], types[-1] in ("response.completed", "response.incomplete")), ("response.created", True))
    waiting = await client.responses.create(**{**asked, "model": WAITING_MODEL}, background=True)
    same((await client.responses.cancel(waiting.id)).status, "cancelled")
    await client.responses.delete(waiting.id)
    await raises_async(openai.NotFoundError, lambda: client.responses.retrieve(waiting.id))


async def errors(client):
    same(MODEL in [model.id async for model in client.models.list()], True)
    await raises_async(openai.NotFoundError, lambda: client.batches.retrieve("batch_none"))
    await raises_async(openai.BadRequestError, lambda: client.chat.completions.create(model=MODEL, messages=[]))
    async with openai.AsyncOpenAI(base_url=BASE_URL, api_key=BAD_KEY, timeout=60, max_retries=0) as stranger:
        await raises_async(openai.AuthenticationError, lambda: stranger.batches.retrieve("batch_none"))


async def main():
    async with openai.AsyncOpenAI(base_url=BASE_URL, api_key=KEY, timeout=60, max_retries=0) as client:
        for part in (files, batches, completions, responses, errors):
            await part(client)
            print("ok", part.__name__, flush=True)


asyncio.run(main())
