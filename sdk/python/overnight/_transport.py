"""The two ways to reach the service.

All logic is written once, as coroutines over `Transport`. Those over `SyncTransport` never wait for an event loop, so
`run` and `iterate` drive them in the thread of the caller.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol, TypeVar

import httpx

from overnight._calls import Call
from overnight._settings import Target
from overnight._version import __version__
from overnight.errors import CutError, InvalidCallError, TransportError

T = TypeVar("T")

CONNECT_MAX_S = 10.0
SILENCE_MAX_S = 120.0
"""How long the service may be silent. Cancelling a large batch takes a while before it answers."""
TIMEOUT = httpx.Timeout(SILENCE_MAX_S, connect=CONNECT_MAX_S)


class Opened(Protocol):
    """An answer that has begun."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> httpx.Headers: ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes. Raises `CutError`."""
        ...


class Transport(Protocol):
    """Makes calls, and waits."""

    def open(self, call: Call) -> AbstractAsyncContextManager[Opened]:
        """Makes a call, once. Raises `TransportError`."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    async def close(self) -> None:
        """Closes the connections, unless they are of a client that the user gave."""
        ...


class SyncTransport:
    """Calls that block the thread."""

    def __init__(self, target: Target, client: httpx.Client | None) -> None:
        self._target = target
        self._is_ours = client is None
        self._client = client or httpx.Client(timeout=TIMEOUT, trust_env=not target.is_loopback)

    @asynccontextmanager
    async def open(self, call: Call) -> AsyncGenerator[Opened, None]:
        request = _request(self._client, self._target, call)
        try:
            response = self._client.send(request, stream=True, follow_redirects=False)
        except httpx.RequestError as error:
            raise _failure(error) from error
        try:
            yield _SyncOpened(response)
        finally:
            response.close()

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    async def close(self) -> None:
        if self._is_ours:
            self._client.close()


class AsyncTransport:
    """Calls that leave the event loop to others."""

    def __init__(self, target: Target, client: httpx.AsyncClient | None) -> None:
        self._target = target
        self._is_ours = client is None
        self._client = client or httpx.AsyncClient(timeout=TIMEOUT, trust_env=not target.is_loopback)

    @asynccontextmanager
    async def open(self, call: Call) -> AsyncGenerator[Opened, None]:
        request = _request(self._client, self._target, call)
        try:
            response = await self._client.send(request, stream=True, follow_redirects=False)
        except httpx.RequestError as error:
            raise _failure(error) from error
        try:
            yield _AsyncOpened(response)
        finally:
            await response.aclose()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        if self._is_ours:
            await self._client.aclose()


class _AnyOpened:
    def __init__(self, response: httpx.Response) -> None:
        self._response = response

    @property
    def status(self) -> int:
        return self._response.status_code

    @property
    def headers(self) -> httpx.Headers:
        return self._response.headers


class _SyncOpened(_AnyOpened):
    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            for chunk in self._response.iter_bytes():
                yield chunk
        except httpx.RequestError as error:
            raise CutError(f"the answer was cut off: {_words(error)}") from error


class _AsyncOpened(_AnyOpened):
    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except httpx.RequestError as error:
            raise CutError(f"the answer was cut off: {_words(error)}") from error


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The outcome of a coroutine over `SyncTransport`."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise RuntimeError("a synchronous call waited for an event loop")


def iterate(generator: AsyncGenerator[T, None]) -> Iterator[T]:
    """The items of a generator over `SyncTransport`. Closing the iterator closes the generator."""

    async def step() -> tuple[T] | None:
        try:
            return (await anext(generator),)
        except StopAsyncIteration:
            return None

    try:
        while item := run(step()):
            yield item[0]
    finally:
        run(_aclose(generator))


async def _aclose(generator: AsyncGenerator[Any, None]) -> None:
    await generator.aclose()


def _request(client: httpx.Client | httpx.AsyncClient, target: Target, call: Call) -> httpx.Request:
    headers = {"X-API-Key": target.api_key, "User-Agent": f"overnight-python/{__version__}", **call.headers}
    try:
        return client.build_request(
            call.method,
            target.base_url + call.path,
            params=dict(call.query) or None,
            headers=headers,
            content=call.content,
        )
    except httpx.InvalidURL as error:
        raise InvalidCallError(str(error)) from error


def _failure(error: httpx.RequestError) -> TransportError:
    never_sent = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
    return TransportError(f"no answer: {_words(error)}", was_sent=not isinstance(error, never_sent))


def _words(error: httpx.RequestError) -> str:
    return f"{error or type(error).__name__} ({error.request.url.copy_with(path='/', query=None)})"
