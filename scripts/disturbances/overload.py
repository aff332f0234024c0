"""An account that offers many times the work that fits, without an end, in bulk creates."""
import asyncio
import collections
import contextlib
import json
import os
import time

# Lines that are written at once.
LINES_AT_ONCE = 40
BODY = {"model": "m", "max_tokens": 4, "messages": [{"role": "user", "content": "one of very many"}]}
HEAD = "Transfer-Encoding: chunked\r\nContent-Type: application/x-ndjson\r\n"


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


async def count_answers(reader, outcomes):
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while line := await reader.readline():
            if b'"line":' in line:
                outcomes["accepted" if b'"id":"req_' in line else json.loads(line)["error"]["code"]] += 1


async def offer(client, per_second, outcomes, stop):
    """Offers so many requests a second until `stop` is set. Where the service takes no more, it falls behind, and nothing is left out."""
    async with client.connection() as (reader, writer):
        head = client.head("POST", "/v1/requests", more=HEAD).replace(b"Content-Length: 0\r\n", b"")
        writer.write(head)
        answers = asyncio.create_task(count_answers(reader, outcomes))
        lines, start, sent = chunk(b"".join(json.dumps({"request_body": BODY}).encode() + b"\n" for _ in range(LINES_AT_ONCE))), time.monotonic(), 0
        while not stop.is_set() and not answers.done():
            await asyncio.sleep(max(0.0, start + sent / per_second - time.monotonic()))
            writer.write(lines)
            await writer.drain()
            sent += LINES_AT_ONCE
            outcomes["offered"] += LINES_AT_ONCE
        writer.write(b"0\r\n\r\n")
        await asyncio.wait([answers], timeout=60)


def run(client, per_second, stop, outcomes):
    """The same in a process of its own; what came of it is put into the queue."""
    os.nice(15)
    counts = collections.Counter()
    asyncio.run(offer(client, per_second, counts, stop))
    outcomes.put(dict(counts))
