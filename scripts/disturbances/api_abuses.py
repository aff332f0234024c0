"""Abuses of the API by an account with a key, and by nobody with a wrong one."""
import asyncio
import json
import time
import zlib

from . import http2
from .abusers import abuse
from .clients import id_in, next_status

BODY_BYTES_MAX = 8 << 20
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def poison(fault):
    """Requests that the engine cannot answer, for a reason of their own."""
    async def work(abuser):
        create = lambda number: abuser.client.create(f"{time.monotonic()} {number} fault:{fault}")
        await abuser.repeat(abuser.some(12), create, pause=0.5)
    work.__name__ = f"poison_{fault}"
    return abuse(work)


for fault in ("500", "502", "reset", "huge", "hang"):
    poison(fault)


@abuse
async def empty_lists(abuser):
    """Lists that find nothing among many, given up after half a second."""
    path = "/v1/requests?status=completed&created_before=2"
    await abuser.repeat(40, lambda number: abuser.client.call("GET", path, give_up_after=0.5))


@abuse
async def whole_lists(abuser):
    await abuser.repeat(40, lambda number: abuser.client.call("GET", "/v1/requests?full=true"))


@abuse
async def measured_files(abuser):
    """The length of the file with the requests of a batch, each of which is long."""
    client = abuser.client
    while not (batch := await batch_of_long_requests(abuser)):
        await asyncio.sleep(0.1)
    path = f"/openai/v1/files/{batch.replace('batch_', 'file_input_')}"
    await abuser.repeat(100, lambda number: client.call("GET", path))


async def batch_of_long_requests(abuser):
    """The identifier of a batch; none if the service refuses a call beside other abuses."""
    client, ids = abuser.client, []
    for number in range(abuser.some(16)):
        status, answer = await client.create(f"{time.monotonic()} {number} {'x' * (1 << 20)}")
        abuser.outcomes[status] += 1
        ids += [id_in(answer)] if status == 201 else []
    status, answer = await client.call("POST", "/v1/batches", json.dumps({"requests_ids": ids}).encode())
    abuser.outcomes[status] += 1
    return json.loads(answer.split(b"\r\n\r\n", 1)[1])["id"] if status == 201 else None


@abuse
async def abandoned_lists(abuser):
    """Lists whose connection breaks as soon as they have begun."""
    async def begin(number):
        async with abuser.client.connection() as (reader, writer):
            writer.write(abuser.client.head("GET", "/v1/requests?full=true"))
            return int((await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1])
    await abuser.repeat(40, begin)


@abuse
async def unread_streams(abuser):
    """Connections of HTTP/2 with 100 lists each, of which the client takes nothing."""
    client = abuser.client
    key = [("x-api-key", client.credentials.split(": ", 1)[1].strip())]

    async def hold(number):
        async with client.connection() as (reader, writer):
            authority = f"127.0.0.1:{client.port}"
            calls = (http2.get(stream, "/v1/requests?full=true", authority, key) for stream in range(1, 200, 2))
            writer.write(http2.begin(window_bytes=0) + b"".join(calls))
            if http2.kind_of(await reader.readexactly(http2.FRAME_HEAD_BYTES)) != http2.SETTINGS:
                return "cut"
            writer.transport.pause_reading()
            abuser.outcomes["held"] += 1
            await asyncio.sleep(60)
            return "released"
    await abuser.repeat(4, hold)


@abuse
async def idle_connections(abuser):
    async def hold(number):
        async with abuser.client.connection():
            abuser.outcomes["held"] += 1
            await asyncio.sleep(5)
            return "released"
    await abuser.repeat(900, hold)


@abuse
async def unknown_members(abuser):
    """Bodies of 300,000 members that no request has."""
    body = ("{" + ",".join(f'"request_bodi{number}":1' for number in range(300_000)) + "}").encode()
    await abuser.repeat(8, lambda number: abuser.client.call("POST", "/v1/requests", body))


async def create_and_cancel(abuser, workers, length):
    text = "x" * length

    async def both(number):
        status, answer = await abuser.client.create(f"{time.monotonic()} {number} {text}")
        if status != 201:
            return status
        return await abuser.client.call("POST", f"/v1/requests/{id_in(answer)}/cancel")
    await abuser.repeat(abuser.some(workers), both)


@abuse
async def large_creates(abuser):
    await create_and_cancel(abuser, 8, 2 << 20)


@abuse
async def largest_creates(abuser):
    """More than the service keeps waiting for its writer, together."""
    await create_and_cancel(abuser, 16, BODY_BYTES_MAX - (1 << 10))


@abuse
async def unfinished_bodies(abuser):
    """Bodies of 8 MiB whose last bytes do not come."""
    piece = b" " * (64 << 10)

    async def hold(number):
        async with abuser.client.connection() as (reader, writer):
            writer.write(abuser.client.head("POST", "/v1/requests", BODY_BYTES_MAX))
            for _ in range(BODY_BYTES_MAX // len(piece) - 1):
                writer.write(piece)
                await writer.drain()
            abuser.outcomes["held"] += 1
            return await next_status(reader)
    await abuser.repeat(abuser.some(128), hold)


@abuse
async def slow_bodies(abuser):
    """Bodies of which a byte comes each second."""
    async def trickle(number):
        async with abuser.client.connection() as (reader, writer):
            writer.write(abuser.client.head("POST", "/v1/requests", BODY_BYTES_MAX))
            abuser.outcomes["held"] += 1
            while not reader.at_eof():
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(1)
            return await next_status(reader)
    await abuser.repeat(abuser.some(400), trickle)


@abuse
async def wrong_keys(abuser):
    """Keys that nobody was given and whose checksum is right, over connections that stay."""
    async def guess(number):
        async with abuser.client.connection() as (reader, writer):
            for tried in range(1_000):
                key = f"X-API-Key: {unknown_key(number, tried)}\r\n"
                writer.write(f"GET /v1/account HTTP/1.1\r\nHost: localhost\r\n{key}\r\n".encode())
                abuser.outcomes[await next_status(reader)] += 1
            return "done"
    await abuser.repeat(40, guess)


def unknown_key(*numbers):
    """A key in the form of those that the service gives."""
    secret = "-".join(map(str, (time.monotonic_ns(), *numbers))).replace("-", "Z").rjust(43, "0")[:43]
    checksum, digits = zlib.crc32(f"on_live_{secret}".encode()), ""
    for _ in range(6):
        checksum, digit = divmod(checksum, 62)
        digits = DIGITS[digit] + digits
    return f"on_live_{secret}{digits}"
