"""An engine of the OpenAI API that takes one time for each answer, unless a prompt says `fault:NAME`. It runs in a process of its own."""
import asyncio
import contextlib
import json
import os

# What each completion reports, and an account is charged for.
PROMPT_TOKENS, COMPLETION_TOKENS = 3, 1


def completion(text):
    message = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": COMPLETION_TOKENS, "total_tokens": PROMPT_TOKENS + COMPLETION_TOKENS}
    return json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [message], "usage": usage}).encode()


# Longer than any answer that the service takes.
HUGE = completion("x" * (17 << 20))


async def converse(reader, writer, seconds):
    """Answers the calls of one connection, each after so many seconds."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next((int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
            body = await reader.readexactly(length)
            status, answer = b"200 OK", completion("ok")
            if b"fault:reset" in body:
                writer.transport.abort()
                break
            if b"fault:hang" in body:
                await asyncio.sleep(3600)
            if b"fault:huge" in body:
                answer = HUGE
            for code in (b"500", b"502"):
                if b"fault:" + code in body:
                    status, answer = code + b" Oops", b'{"error":{"message":"no"}}'
            await asyncio.sleep(seconds)
            writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
            await writer.drain()
    writer.close()


def serve(ports, seconds=0.01):
    """Serves as long as the process that started it; puts the port into the queue."""
    async def accept(parent):
        server = await asyncio.start_server(lambda reader, writer: converse(reader, writer, seconds), "127.0.0.1", 0, limit=64 << 20)
        ports.put(server.sockets[0].getsockname()[1])
        while os.getppid() == parent:
            await asyncio.sleep(1)
    asyncio.run(accept(os.getppid()))
