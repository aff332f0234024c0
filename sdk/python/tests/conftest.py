"""A service with the model in the box, which all tests share; each test asks for a client of its own.

What the model says may differ with the load of the machine, so tests look at no more than how its answers begin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from awaited import awaited
from scripted import ScriptedServer

import overnight

SETTINGS = """
aggregation_period = "50ms"
[[models]]
name = "overnight-tiny"
input_price = "0.10"
output_price = "0.15"
[[models]]
name = "waiting"
[[engines]]
name = "local"
kind = "embedded"
models = { "overnight-tiny" = "overnight-tiny" }
[[engines]]
name = "away"
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
models = { "waiting" = "m" }
"""
ANSWER = "The capital of "
"""How the model in the box begins its answer to a question for a capital."""

Connect = Callable[..., overnight.Overnight]


@pytest.fixture(scope="session")
def service() -> Iterator[overnight.LocalService]:
    service = overnight.local(settings=SETTINGS)
    with service:
        yield service


@pytest.fixture(params=["blocking", "awaited"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Makes a client of a URL and a key, with so many retries; a test that uses it runs with each kind of client."""
    with ExitStack() as stack:

        def connect(url: str, key: str, retries: int = 5) -> overnight.Overnight:
            if request.param == "blocking":
                return stack.enter_context(overnight.Overnight(base_url=url, api_key=key, retries=retries))
            return stack.enter_context(awaited(overnight.AsyncOvernight(base_url=url, api_key=key, retries=retries)))

        yield connect


@pytest.fixture
def client(service: overnight.LocalService, connect: Connect) -> overnight.Overnight:
    return connect(service.url, service.api_key)


@pytest.fixture
def scripted() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server
