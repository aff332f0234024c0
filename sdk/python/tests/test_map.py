"""Rows in, answers out, against the real service."""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from types import ModuleType
from typing import Any, Literal

import pytest
from conftest import ANSWER
from pydantic import BaseModel

import overnight
from overnight import Overnight, Progress

COUNTRIES = ["France", "Peru", "Japan", "Norway"]
QUESTION = "What is the capital of {country}?"
TINY: dict[str, Any] = {"model": "overnight-tiny", "max_tokens": 16, "temperature": 0}
LONGER: dict[str, Any] = {**TINY, "max_tokens": 256}
"""For answers of a form, in which the model in the box may write much white space."""


class Verdict(BaseModel):
    verdict: Literal["good", "bad"]


SCHEMA = {
    "type": "object",
    "properties": {"size": {"enum": ["small", "large"]}},
    "required": ["size"],
    "additionalProperties": False,
}


def rows() -> list[dict[str, str]]:
    return [{"country": country} for country in COUNTRIES]


def test_every_row_has_one_answer(client: Overnight) -> None:
    answers = client.map(rows(), prompt=QUESTION, name="capitals", **TINY)
    found = {answer.index: answer for answer in answers}
    assert sorted(found) == [0, 1, 2, 3]
    assert found[0].text is not None and found[0].text.startswith(ANSWER) and found[0].error is None
    assert found[0].prompt_tokens > 0 and found[0].request is not None
    cost = found[0].prompt_tokens * Decimal("0.10") + found[0].completion_tokens * Decimal("0.15")
    assert found[0].cost == cost / 1_000_000
    (batch_id,) = answers.batch_ids
    batch = client.get_batch(batch_id)
    assert batch.metadata == {"batch_name": "capitals"} and batch.requests_counts.completed == 4


def test_rows_are_texts_dicts_or_anything_that_a_function_asks_about(client: Overnight) -> None:
    def ask(number: int) -> list[dict[str, Any]]:
        return [{"role": "user", "content": f"What is the capital of {COUNTRIES[number]}?"}]

    questions = [QUESTION.format(country=country) for country in COUNTRIES]
    for answers in [
        client.map(questions, ordered=True, **TINY),
        client.map(COUNTRIES, prompt="What is the capital of {}?", ordered=True, **TINY),
        client.map(range(4), prompt=ask, ordered=True, **TINY),
    ]:
        asked = [answer.request.request_body["messages"] for answer in answers if answer.request]
        assert asked == [[{"role": "user", "content": question}] for question in questions]


def test_the_system_prompt_comes_first(client: Overnight) -> None:
    (answer,) = client.map(["Hello!"], system="Be brief. {as it stands}", **TINY)
    assert answer.request is not None
    assert answer.request.request_body["messages"] == [
        {"role": "system", "content": "Be brief. {as it stands}"},
        {"role": "user", "content": "Hello!"},
    ]


def test_answers_have_the_form_of_a_model_class(client: Overnight) -> None:
    answers = client.map(["Is this good?"] * 3, schema=Verdict, **LONGER)
    assert {answer.parsed.verdict for answer in answers if answer.parsed is not None} <= {"good", "bad"}


def test_answers_have_the_form_of_a_json_schema(client: Overnight) -> None:
    for answer in client.map(["How large?"] * 3, schema=SCHEMA, **LONGER):
        assert answer.parsed is not None and answer.parsed["size"] in ("small", "large")


def test_a_text_of_another_form_is_an_error_of_its_row(client: Overnight) -> None:
    (answer,) = client.map(["How large?"], model="overnight-tiny", schema=SCHEMA, max_tokens=1)
    assert answer.error is not None and answer.error.code == "invalid_answer"
    assert answer.parsed is None and answer.text is not None and answer.finish_reason == "length"


def test_a_refused_row_is_an_answer_and_the_others_go_on(client: Overnight) -> None:
    def ask(row: int) -> list[dict[str, Any]]:
        return [{"role": "user", "content": "Hello!"}] if row != 1 else []

    answers = {answer.index: answer for answer in client.map(range(3), prompt=ask, **TINY)}
    assert answers[1].error is not None and answers[1].error.code == "invalid_input"
    assert answers[1].request is None and answers[0].error is None and answers[2].error is None


def test_what_is_cancelled_meanwhile_is_an_answer(client: Overnight, service: overnight.LocalService) -> None:
    def cancel_when_sent(progress: Progress) -> None:
        if progress.sent == 2 and not progress.answered:
            with service.client() as other:
                for request in other.list_requests(model="waiting", order="desc", limit=2):
                    other.cancel_request(request.id)

    answers = client.map(["one", "two"], model="waiting", progress=cancel_when_sent)
    assert [answer.error and answer.error.code for answer in answers] == ["cancelled", "cancelled"]


def test_without_a_model_the_only_one_is_taken(client: Overnight) -> None:
    with pytest.raises(overnight.InvalidCallError, match="overnight-tiny, waiting"):
        list(client.map(["Hello!"]))


def test_a_prompt_that_does_not_fit_its_row_is_told(client: Overnight) -> None:
    for row, prompt in [({"a": 1}, "{b}"), ("text", "{b}"), (7, "{b}"), ({"a": 1}, None), ({"a": 1}, "{")]:
        with pytest.raises(overnight.InvalidCallError, match=r"row 0"):
            list(client.map([row], prompt=prompt, **TINY))
    with pytest.raises(overnight.InvalidCallError, match="response_format"):
        client.map(["a"], schema=SCHEMA, response_format={"type": "json_object"}, **TINY)


def test_a_later_row_that_the_prompt_does_not_fit_is_an_answer(client: Overnight) -> None:
    mixed: list[Any] = [{"country": "France"}, {"town": "Oslo"}, 7, {"country": float("nan")}, {"country": "Peru"}]
    found = list(client.map(mixed, prompt=QUESTION, ordered=True, **TINY))
    assert [answer.index for answer in found] == [0, 1, 2, 3, 4]
    codes = [answer.error and answer.error.code for answer in found]
    assert codes == [None, "invalid_row", "invalid_row", None, None]

    def ask(row: Any) -> Any:
        return "Hello!" if row else [{"role": "user", "content": {1, 2}}]

    codes = [answer.error and answer.error.code for answer in client.map([1, 0], prompt=ask, ordered=True, **TINY)]
    assert codes == [None, "invalid_row"]


def test_rows_are_drawn_while_they_are_sent(client: Overnight, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("overnight._bulk.SEGMENT_LINES", 2)
    drawn: list[int] = []

    def source() -> Iterator[str]:
        for number in range(7):
            drawn.append(number)
            yield "Hello!"

    sent: list[tuple[int, int]] = []
    answers = client.map(source(), progress=lambda progress: sent.append((progress.sent, len(drawn))), **TINY)
    assert len(list(answers)) == 7
    assert (1, 3) in sent


def test_a_map_with_the_same_key_goes_on_without_asking_again(client: Overnight) -> None:
    first = client.map(rows(), prompt=QUESTION, key="capitals-1", **TINY)
    next(first)
    requests = {answer.request.id for answer in first if answer.request}
    again = client.map(rows(), prompt=QUESTION, key="capitals-1", **TINY)
    answers = list(again)
    assert again.batch_ids == first.batch_ids and len(answers) == 4
    assert requests <= {answer.request.id for answer in answers if answer.request}


def test_a_map_whose_first_rows_are_in_a_batch_already_goes_on(client: Overnight) -> None:
    expected = list(client.map(rows()[:2], prompt=QUESTION, key="capitals-2", **TINY))
    again = client.map(rows(), prompt=QUESTION, key="capitals-2", **TINY)
    answers = list(again)
    assert sorted(answer.index for answer in answers) == [0, 1, 2, 3]
    assert len(again.batch_ids) == 2
    old = {answer.request.id for answer in expected if answer.request}
    assert old <= {answer.request.id for answer in answers if answer.request}


def test_more_rows_than_a_batch_takes_make_several(client: Overnight, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("overnight._mapping.BATCH_REQUESTS_MAX", 3)
    answers = client.map(COUNTRIES, prompt="What is the capital of {}?", ordered=True, **TINY)
    assert [answer.index for answer in answers] == [0, 1, 2, 3]
    assert len(answers.batch_ids) == 2


def test_no_rows_have_no_answers(client: Overnight) -> None:
    assert list(client.map([], **TINY)) == []


def test_the_asynchronous_client_maps_what_comes_asynchronously(service: overnight.LocalService) -> None:
    async def source() -> AsyncIterator[str]:
        for country in COUNTRIES:
            await asyncio.sleep(0)
            yield country

    async def use() -> list[int]:
        async with service.async_client() as client:
            answers = client.map(source(), prompt="What is the capital of {}?", schema=Verdict, **TINY)
            return sorted([answer.index async for answer in answers])

    assert asyncio.run(use()) == [0, 1, 2, 3]


def test_the_synchronous_client_works_beside_an_event_loop(service: overnight.LocalService) -> None:
    async def use() -> list[str | None]:
        # As in a notebook, whose cells run in the thread of its loop.
        with service.client() as client:
            return [answer.text for answer in client.map(COUNTRIES, prompt="What is the capital of {}?", **TINY)]

    assert len(asyncio.run(use())) == 4


def test_threads_share_a_client(service: overnight.LocalService) -> None:
    client = service.client()

    def ask(country: str) -> list[str]:
        answers = client.map([country] * 5, **TINY)
        return [answer.request.request_body["messages"][0]["content"] for answer in answers if answer.request]

    with client, ThreadPoolExecutor() as threads:
        assert list(threads.map(ask, COUNTRIES)) == [[country] * 5 for country in COUNTRIES]


def test_an_asynchronous_map_that_is_cancelled_lets_go(service: overnight.LocalService) -> None:
    async def use() -> None:
        async with service.async_client() as client:
            answers = client.map(["one"], model="waiting")
            waiting = asyncio.create_task(answers.__anext__())
            while not answers.batch_ids:
                await asyncio.sleep(0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await client.cancel_batch(answers.batch_ids[0])

    asyncio.run(asyncio.wait_for(use(), 60))


def test_one_row_is_not_many(client: Overnight) -> None:
    for rows in ["What is the capital of France?", {"country": "France"}]:
        with pytest.raises(overnight.InvalidCallError, match="list"):
            list(client.map(rows, **TINY))


def test_progress_is_a_line_that_is_written_over(client: Overnight, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal, file = Terminal(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    list(client.map(COUNTRIES, prompt="{}", **TINY))
    assert terminal.getvalue().endswith("\r4 of 4 rows answered\n")
    monkeypatch.setattr(sys, "stderr", file)
    list(client.map(COUNTRIES, prompt="{}", **TINY))
    assert file.getvalue() == ""


def test_no_optional_package_is_needed(service: overnight.LocalService) -> None:
    program = """
import sys
for name in ("pydantic", "pandas", "polars", "IPython", "numpy"):
    sys.modules[name] = None
import overnight
(answer,) = overnight.Overnight().map(["Hello!"], model="overnight-tiny", max_tokens=8)
assert answer.text and answer.error is None
"""
    environment = {"OVERNIGHT_URL": service.url, "OVERNIGHT_API_KEY": service.api_key, "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


def test_a_notebook_shows_progress_where_it_shows_results(
    client: Overnight, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Shell:
        kernel = "of a notebook"

    notebook = ModuleType("IPython")
    monkeypatch.setattr(notebook, "get_ipython", Shell, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    list(client.map((country for country in COUNTRIES), prompt="{}", **TINY))
    shown = capsys.readouterr()
    assert shown.out.endswith("\r4 of 4 rows answered\n") and shown.err == ""
