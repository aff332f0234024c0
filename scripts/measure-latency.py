#!/usr/bin/env python3
"""Latency of durable creates under a steady load: POST /v1/requests of 7.3 KB, over 64 connections.

usage: measure-latency.py PORT API_KEY MODEL [PER_SECOND] [SECONDS]

A create is answered after its commit. The latency runs from the moment at which the create was due, so that a commit that
holds others up counts for each of them.
"""
import asyncio
import json
import random
import sys
import time

CONNECTIONS = 64
TEXT = "lorem ipsum dolor " * 400


async def send_all(port, key, model, due, latencies):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (due_at := await due.get()) is not None:
        messages = [{"role": "user", "content": f"{random.random()} {TEXT}"}]
        body = json.dumps({"request_body": {"model": model, "messages": messages, "max_tokens": 8}}).encode()
        head = f"POST /v1/requests HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        status, *headers = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        length = next(int(line.split(b":")[1]) for line in headers if line.startswith(b"content-length:"))
        answer = await reader.readexactly(length)
        if b" 201 " not in status:
            sys.exit(f"{status.decode()}: {answer.decode()}")
        latencies.append(time.monotonic() - due_at)
    writer.close()


async def main(port, key, model, per_second, seconds):
    due, latencies = asyncio.Queue(), []
    senders = [asyncio.create_task(send_all(port, key, model, due, latencies)) for _ in range(CONNECTIONS)]
    start = time.monotonic()
    for number in range(int(per_second * seconds)):
        due_at = start + number / per_second
        await asyncio.sleep(max(0, due_at - time.monotonic()))
        due.put_nowait(due_at)
    for _ in senders:
        due.put_nowait(None)
    await asyncio.gather(*senders)
    latencies.sort()
    for name, share in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)]:
        print(f"{name}: {latencies[int(len(latencies) * share)] * 1e3:.2f} ms")


if __name__ == "__main__":
    port, key, model, *rest = sys.argv[1:]
    per_second, seconds = [float(value) for value in rest] + [1200.0, 12.0][len(rest):]
    asyncio.run(main(int(port), key, model, per_second, seconds))
