"""Vectors of rows, from a simulated engine behind the real service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from vectors import VectorEngine, vector

import overnight
from overnight import Overnight


@pytest.fixture(scope="module")
def service() -> Iterator[overnight.LocalService]:
    with VectorEngine() as engine:
        service = overnight.local(settings='aggregation_period = "50ms"\n' + engine.settings)
        with service:
            yield service


def test_every_row_has_its_vector(client: Overnight) -> None:
    texts = ["x" * number for number in range(1, 201)]
    found = list(client.embed(texts, model="vectors", ordered=True))
    assert [embedding.index for embedding in found] == list(range(200))
    assert [embedding.vector for embedding in found] == [vector(text) for text in texts]
    assert sorted(embedding.index for embedding in client.embed(texts, model="vectors")) == list(range(200))


def test_rows_are_dicts_too_and_files_are_many(client: Overnight, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("overnight._embedding.TEXTS_MAX", 2)
    monkeypatch.setattr("overnight._embedding.FILE_LINES_MAX", 2)
    rows = [{"title": "a" * number} for number in range(7)]
    found = client.embed(rows, text="title: {title}", model="vectors", ordered=True, encoding_format="float")
    assert [embedding.vector for embedding in found] == [vector("title: " + row["title"]) for row in rows]


def test_an_embedding_with_the_same_key_goes_on(client: Overnight) -> None:
    first = list(client.embed(["a", "b"], model="vectors", key="corpus-1"))
    batches = list(client.list_batches())
    assert list(client.embed(["a", "b"], model="vectors", key="corpus-1")) == first
    assert list(client.list_batches()) == batches


def test_a_text_that_the_engine_refuses_is_an_error_of_its_request(
    client: Overnight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("overnight._embedding.TEXTS_MAX", 1)
    found = list(client.embed(["a", "refused"], model="vectors", ordered=True))
    assert found[0].vector == vector("a") and found[0].error is None
    assert found[1].vector is None and found[1].error is not None and found[1].error.code == "engine_rejected"


def test_a_text_that_the_service_refuses_is_told(client: Overnight) -> None:
    with pytest.raises(overnight.InvalidInputError, match="model"):
        list(client.embed(["a"], model="unknown"))
    with pytest.raises(overnight.InvalidCallError, match="row 0"):
        list(client.embed([1], model="vectors"))
