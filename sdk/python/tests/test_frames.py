"""A frame in, a frame out."""

from __future__ import annotations

from typing import Any

import pandas  # pyright: ignore[reportMissingTypeStubs]
import polars
import pytest
from conftest import ANSWER
from test_map import LONGER, QUESTION, SCHEMA, TINY, Verdict

import overnight
from overnight import Overnight

ADDED = ["answer", "finish_reason", "prompt_tokens", "completion_tokens", "cost", "error"]


def test_a_frame_of_pandas_keeps_its_index_and_its_columns(client: Overnight) -> None:
    frame: Any = pandas.DataFrame({"country": ["France", "Japan"], "n": [1, 2]}, index=["x", "y"])
    found: Any = client.map_frame(frame, prompt=QUESTION, **TINY)
    assert list(found.columns) == ["country", "n", *ADDED] and list(found.index) == ["x", "y"]
    assert all(answer.startswith(ANSWER) for answer in found["answer"])
    assert list(found["error"]) == [None, None] and (found["cost"] > 0).all()
    assert list(frame.columns) == ["country", "n"]


def test_a_frame_of_polars_gets_the_members_of_a_schema_as_columns(client: Overnight) -> None:
    frame = polars.DataFrame({"country": ["France", "Japan"], "answer": ["Paris", "Tokyo"]})
    with pytest.raises(overnight.InvalidCallError, match="answer already: pass `prefix`"):
        client.map_frame(frame, prompt=QUESTION, schema=SCHEMA, **TINY)
    found = client.map_frame(frame, prompt=QUESTION, schema=SCHEMA, prefix="its_", **LONGER)
    assert found.columns == ["country", "answer", *[f"its_{name}" for name in [*ADDED, "size"]]]
    assert set(found["its_size"]) <= {"small", "large"}


def test_a_member_that_is_called_as_a_column_has_another_name(client: Overnight) -> None:
    form = {**SCHEMA, "properties": {"answer": {"enum": ["yes", "no"]}}, "required": ["answer"]}
    frame = polars.DataFrame({"text": ["Hello!"]})
    found = client.map_frame(frame, prompt="{text}", schema=form, **LONGER)
    assert found.columns == ["text", *ADDED, "answer_answer"] and found["answer_answer"][0] in ("yes", "no")


def test_a_row_without_an_answer_has_an_error(client: Overnight) -> None:
    frame = polars.DataFrame({"text": ["Hello!", "no"]})

    def ask(row: dict[str, str]) -> Any:
        return [] if row["text"] == "no" else row["text"]

    found = client.map_frame(frame, prompt=ask, schema=Verdict, **LONGER)
    assert found["error"][1].startswith("invalid_input: ")
    assert found["answer"][1] is None and found["verdict"][1] is None


def test_what_is_no_frame_is_refused(client: Overnight) -> None:
    with pytest.raises(overnight.InvalidCallError, match="list"):
        client.map_frame([{"country": "France"}], prompt=QUESTION, **TINY)
