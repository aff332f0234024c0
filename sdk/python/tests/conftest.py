"""A service with the model in the box, which all tests share; each test asks for a client of its own.

What the model says may differ with the load of the machine, so tests look at no more than how its answers begin.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
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


@pytest.fixture(scope="session")
def service() -> Iterator[overnight.LocalService]:
    service = overnight.local(settings=SETTINGS)
    with service:
        yield service


@pytest.fixture
def client(service: overnight.LocalService) -> Iterator[overnight.Overnight]:
    with service.client() as client:
        yield client


@pytest.fixture
def scripted() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server
