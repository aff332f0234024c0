"""Clients of the service over HTTP/1.1, with an API key or with a session of the console."""
import asyncio
import contextlib
import dataclasses
import json
import re
import ssl
import typing

# Read ahead of what a client asks for, at most twice as much.
RECEIVED_MAX = 1 << 20


@dataclasses.dataclass(frozen=True)
class Client:
    """Calls from one address, with the headers that say who calls."""

    port: int
    address: str
    credentials: str
    # With TLS, by this context.
    tls: typing.Optional[ssl.SSLContext] = None

    @classmethod
    def with_key(cls, port, address, key):
        return cls(port, address, f"X-API-Key: {key}\r\n")

    @classmethod
    def with_session(cls, port, address, session):
        """A browser that is signed in. The console takes changes only from its own pages, which `Origin` names."""
        return cls(port, address, f"Cookie: overnight_session_{port}={session}\r\nOrigin: http://127.0.0.1:{port}\r\n")

    def at(self, address):
        return dataclasses.replace(self, address=address)

    def over(self, tls):
        return dataclasses.replace(self, tls=tls)

    def head(self, method, path, length=0, more=""):
        return (f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n{self.credentials}"
                f"Content-Length: {length}\r\n{more}\r\n").encode()

    @contextlib.asynccontextmanager
    async def connection(self):
        """A connection of its own, which is torn down at the end: what was not read is lost."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(self.address, 0), limit=RECEIVED_MAX,
                                                       ssl=self.tls)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    async def call(self, method, path, body=b"", give_up_after=60.0, more=""):
        """One call over a connection of its own: its status and its whole response, head included."""
        async def exchange():
            async with self.connection() as (reader, writer):
                writer.write(self.head(method, path, len(body), "Connection: close\r\n" + more) + body)
                answer = await reader.read(-1)
                return int(answer.split(b" ", 2)[1]), answer
        return await asyncio.wait_for(exchange(), give_up_after)

    async def post_form(self, path, form):
        return await self.call("POST", path, form.encode(), more="Content-Type: application/x-www-form-urlencoded\r\n")

    async def create(self, content, **fields):
        body = {"model": "m", "max_tokens": 4, "messages": [{"role": "user", "content": content}], **fields}
        return await self.call("POST", "/v1/requests", json.dumps({"request_body": body}).encode())

    async def count(self, status):
        """How many of the account's requests have this status."""
        code, answer = await self.call("GET", f"/v1/requests?status={status}", give_up_after=300)
        if code != 200:
            raise RuntimeError(f"the list of {status} requests was answered with {code}")
        return answer.count(b'"id":"req_')

    async def cancel_all(self):
        """Cancels what waits or runs: a request that its engine always fails is retried until its completion window ends."""
        for status in ("registered", "in%20progress"):
            _, answer = await self.call("GET", f"/v1/requests?status={status}", give_up_after=300)
            for request in set(re.findall(rb'"id":"(req_[0-9a-z]+)"', answer)):
                await self.call("POST", f"/v1/requests/{request.decode()}/cancel")


async def next_status(reader):
    """The status of the next response on a connection that goes on, and of a response that says its length."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"content-length:")), None)
    if length is None:
        raise ConnectionError("a response without a length ends its connection")
    await reader.readexactly(length)
    return int(head.split(b" ", 2)[1])


def id_in(answer):
    """The identifier of a request in the response that acknowledged it."""
    return json.loads(answer.split(b"\r\n\r\n", 1)[1])[0]["id"]


def cookie_in(answer):
    """The session in the response that signed a browser in."""
    line = next(line for line in answer.split(b"\r\n") if line.lower().startswith(b"set-cookie:"))
    return line.split(b"=", 1)[1].split(b";")[0].decode()
