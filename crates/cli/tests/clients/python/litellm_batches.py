"""LiteLLM's calls for files and batches, and a completion."""

import asyncio
import os

# Uses the included table of costs; otherwise it is downloaded.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm

from support import (
    KEY, MODEL, URL, WAITING_MODEL, chat, custom_ids, lines, poll, poll_async, rows, same, seen_natively,
    wait_for_requests,
)

SERVICE = {"custom_llm_provider": "openai", "api_base": f"{URL}/openai/v1", "api_key": KEY}
ENDS = ("completed", "failed", "expired", "cancelled")
BATCH = {"endpoint": "/v1/chat/completions", "completion_window": "24h"}


def upload(content):
    return litellm.create_file(file=("rows.jsonl", content), purpose="batch", **SERVICE)


def files():
    file = upload(lines(2))
    same((file.object, file.bytes), ("file", len(lines(2))))
    same(litellm.file_content(file_id=file.id, **SERVICE).content, lines(2))
    same(litellm.file_retrieve(file_id=file.id, **SERVICE).id, file.id)
    same([listed.id for listed in litellm.file_list(**SERVICE)], [file.id])
    same(litellm.file_delete(file_id=file.id, **SERVICE).deleted, True)


def batches():
    created = litellm.create_batch(input_file_id=upload(lines(5)).id, metadata={"job": "nightly"}, **BATCH, **SERVICE)
    batch = poll(
        lambda: litellm.retrieve_batch(batch_id=created.id, **SERVICE), lambda batch: batch.status in ENDS
    )
    same((batch.status, batch.request_counts.completed, batch.metadata), ("completed", 5, {"job": "nightly"}))
    output = litellm.file_content(file_id=batch.output_file_id, **SERVICE)
    same(custom_ids(output.text), rows(5))
    seen_natively(batch.id, "completed", completed=5)

    waiting = litellm.create_batch(input_file_id=upload(lines(2, WAITING_MODEL)).id, **BATCH, **SERVICE)
    wait_for_requests(waiting.id, 2)
    assert litellm.cancel_batch(batch_id=waiting.id, **SERVICE).status in ("cancelling", "cancelled")
    poll(
        lambda: litellm.retrieve_batch(batch_id=waiting.id, **SERVICE), lambda batch: batch.status == "cancelled"
    )
    seen_natively(waiting.id, "cancelled", cancelled=2)
    same([batch.id for batch in litellm.list_batches(limit=1, **SERVICE).data], [waiting.id])
    same([batch.id for batch in litellm.list_batches(after=waiting.id, **SERVICE).data], [batch.id])


async def batches_async():
    file = await litellm.acreate_file(file=("rows.jsonl", lines(3)), purpose="batch", **SERVICE)
    created = await litellm.acreate_batch(input_file_id=file.id, **BATCH, **SERVICE)
    batch = await poll_async(
        lambda: litellm.aretrieve_batch(batch_id=created.id, **SERVICE), lambda batch: batch.status in ENDS
    )
    same((batch.status, batch.request_counts.completed), ("completed", 3))
    output = await litellm.afile_content(file_id=batch.output_file_id, **SERVICE)
    same(custom_ids(output.text), rows(3))
    seen_natively(batch.id, "completed", completed=3)


def completions():
    asked = {**chat("Hello"), "model": f"openai/{MODEL}"}
    completion = litellm.completion(**asked, api_base=SERVICE["api_base"], api_key=KEY)
    same(completion.choices[0].message.role, "assistant")
    assert completion.choices[0].message.content, completion


files()
print("ok files", flush=True)
batches()
print("ok batches", flush=True)
asyncio.run(batches_async())
print("ok batches_async", flush=True)
completions()
print("ok completions", flush=True)
