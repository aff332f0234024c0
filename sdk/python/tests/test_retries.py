"""What is repeated, against a server that breaks as it is told."""

from __future__ import annotations

import hashlib
import socket
from typing import Any

import pytest
from conftest import Connect
from scripted import ScriptedServer, answer, created, ended, events, lines, refusal

import overnight
from overnight import CutError, ForeignError, Overnight, TransportError, UnavailableError
from overnight._bulk import to_line
from overnight._retries import PAUSE_MAX_S, back_off, pause_after

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("overnight._retries.FIRST_PAUSE_S", 0.0)


@pytest.fixture
def client(scripted: ScriptedServer, connect: Connect) -> Overnight:
    return connect(scripted.url, "key", retries=3)


def test_a_create_is_repeated_with_the_same_key_and_body_until_it_is_answered(
    scripted: ScriptedServer, client: Overnight
) -> None:
    scripted.answer(b"", refusal(503, "unavailable"), refusal(429, "too_many_calls"), answer(201, [created(1)]))
    assert client.create_request(BODY).id == "req_1"
    keys = {call.headers["idempotency-key"] for call in scripted.calls}
    assert len(scripted.calls) == 4
    assert len(keys) == 1 and keys != {""}
    assert len({call.body for call in scripted.calls}) == 1


def test_creates_without_a_key_of_their_caller_have_different_keys(scripted: ScriptedServer, client: Overnight) -> None:
    scripted.answer(answer(201, [created(1)]), answer(201, [created(2)]))
    client.create_request(BODY)
    client.create_request(BODY)
    first, second = scripted.calls
    assert first.headers["idempotency-key"] != second.headers["idempotency-key"]


def test_a_delete_is_not_repeated_where_it_may_have_been_done(scripted: ScriptedServer, client: Overnight) -> None:
    with pytest.raises(TransportError) as caught:
        client.delete_request("req_1")
    assert caught.value.was_sent and len(scripted.calls) == 1
    scripted.answer(refusal(503, "unavailable"), answer(200, {"id": "req_1", "deleted": True}))
    client.delete_request("req_1")


def test_retries_end(scripted: ScriptedServer, connect: Connect) -> None:
    scripted.answer(*[refusal(503, "unavailable") for _ in range(9)])
    with pytest.raises(UnavailableError) as caught:
        connect(scripted.url, "key", retries=2).get_account()
    assert len(scripted.calls) == 3
    assert (caught.value.status, caught.value.code, caught.value.request_id) == (503, "unavailable", "call_1")


def test_a_refusal_is_not_repeated(scripted: ScriptedServer, client: Overnight) -> None:
    details = [{"param": "requests_ids[0]", "message": "unknown", "code": "unknown", "id": "req_9"}]
    scripted.answer(refusal(422, "invalid_input", param="requests_ids", details=details))
    with pytest.raises(overnight.InvalidInputError) as caught:
        client.create_batch(["req_9"])
    assert caught.value.param == "requests_ids" and caught.value.details[0].id == "req_9"
    assert len(scripted.calls) == 1


def test_the_service_is_given_the_time_it_asks_for_within_reason() -> None:
    def busy(seconds: float) -> UnavailableError:
        return UnavailableError(503, overnight.ErrorBody("", "", ""), seconds)

    assert pause_after(busy(30), is_repeatable=False, tries=0) == 30
    assert pause_after(busy(3600), is_repeatable=True, tries=0) is None


def test_an_error_is_read_by_its_status_first(scripted: ScriptedServer, client: Overnight) -> None:
    for status, code, kind in [
        (409, "already_ended", overnight.AlreadyEndedError),
        (402, "quota_exceeded", overnight.CreditsError),
        (403, "insufficient_scope", overnight.PermissionDeniedError),
        (404, "of_a_later_release", overnight.NotFoundError),
        (500, "internal", overnight.ServerError),
        (418, "teapot", overnight.APIError),
    ]:
        scripted.answer(refusal(status, code))
        with pytest.raises(overnight.APIError) as caught:
            client.get_account()
        assert type(caught.value) is kind


def test_retry_after_is_read(scripted: ScriptedServer, client: Overnight) -> None:
    scripted.answer(refusal(429, "too_many_calls", "Retry-After: 61"))
    with pytest.raises(overnight.RateLimitError) as caught:
        client.get_account()
    assert caught.value.retry_after == 61 and len(scripted.calls) == 1


def test_pauses_grow_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("overnight._retries.FIRST_PAUSE_S", 0.25)
    for tries, at_most in [(0, 0.25), (1, 0.5), (4, 4.0), (5, PAUSE_MAX_S), (10_000, PAUSE_MAX_S)]:
        assert at_most / 2 <= back_off(tries) <= at_most


def test_what_is_no_answer_of_this_api_is_told_apart(scripted: ScriptedServer, client: Overnight) -> None:
    scripted.answer(answer(400, b"<html>a proxy</html>"), answer(200, b"<html>"))
    with pytest.raises(ForeignError, match="a proxy"):
        client.get_account()
    with pytest.raises(overnight.UnreadableError):
        client.get_account()


def test_a_service_that_is_not_there_is_told(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(TransportError, match="no answer") as caught:
        connect(f"http://127.0.0.1:{port}", "key", retries=1).delete_request("req_1")
    assert not caught.value.was_sent


NOTHING = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"


def test_following_goes_on_after_the_last_request_that_was_read(scripted: ScriptedServer, client: Overnight) -> None:
    scripted.answer(events(ended(1), ended(2), is_whole=False), b"", events(ended(3)), NOTHING)
    requests = list(client.follow_batch_results("batch_1"))
    assert [request.id for request in requests] == ["req_1", "req_2", "req_3"]
    assert [call.line.split(" ")[1] for call in scripted.calls] == [
        "/v1/batches/batch_1/results?follow=true",
        "/v1/batches/batch_1/results?follow=true&after=req_2",
        "/v1/batches/batch_1/results?follow=true&after=req_2",
        "/v1/batches/batch_1/results?follow=true&after=req_3",
    ]


def test_a_list_that_a_proxy_ends_early_goes_on_until_nothing_is_left(
    scripted: ScriptedServer, client: Overnight
) -> None:
    for end in (NOTHING, refusal(404, code="not_found")):
        scripted.answer(events(ended(1)), events(ended(2)), end)
        requests = list(client.follow_batch_results("batch_1"))
        assert [request.id for request in requests] == ["req_1", "req_2"]


def test_following_from_a_place_asks_for_what_is_after_it(scripted: ScriptedServer, client: Overnight) -> None:
    scripted.answer(NOTHING)
    assert list(client.follow_batch_results("batch_1", after="req_7")) == []
    assert "after=req_7" in scripted.calls[0].line


def test_a_list_goes_on_after_the_last_record_that_was_read(scripted: ScriptedServer, client: Overnight) -> None:
    scripted.answer(lines(created(1), created(2), is_whole=False), lines(created(3)))
    assert [request.id for request in client.list_requests(order="desc", limit=5)] == [
        "req_1",
        "req_2",
        "req_3",
    ]
    assert scripted.calls[1].line == "GET /v1/requests?order=desc&after=req_2&limit=3 HTTP/1.1"


def test_results_that_are_cut_off_never_look_whole(scripted: ScriptedServer, client: Overnight) -> None:
    scripted.answer(lines(ended(1), is_whole=False))
    results = client.get_batch_results("batch_1")
    assert next(results).text == "answer 1"
    with pytest.raises(CutError):
        next(results)


def test_results_that_end_in_an_error_line_never_look_whole(scripted: ScriptedServer, client: Overnight) -> None:
    # As a proxy hands them on that took the cut connection for the end.
    scripted.answer(lines(ended(1), {"error": {"message": "a part of the database is damaged"}}))
    results = client.get_batch_results("batch_1")
    assert next(results).text == "answer 1"
    with pytest.raises(CutError, match="damaged"):
        next(results)


def test_a_bulk_create_sends_what_is_not_answered_again_in_its_place(
    scripted: ScriptedServer, client: Overnight
) -> None:
    refused = {"message": "no", "type": "rate_limit_error", "code": "too_many_calls"}
    first, second, third, other = ({**BODY, "seed": number} for number in range(4))

    def to(body: dict[str, Any]) -> dict[str, str]:
        return {"sha256": hashlib.sha256(to_line(body)).hexdigest()}

    # The line of another body stands for one that a proxy changed.
    stray = {"line": 3, **to(other), **created(9)}
    scripted.answer(
        lines({"line": 1, **to(first), **created(1)}, is_whole=False),
        lines(stray, {"line": 4, **to(second), **created(3)}, {"line": 4, **to(third), "error": refused}),
        lines({"line": 4, **to(third), **created(4)}),
    )
    bodies = [first, None, second, third]
    outcomes = list(client.once("key").create_requests(bodies))
    assert [(outcome.line, outcome.created and outcome.created.id) for outcome in outcomes] == [
        (1, "req_1"),
        (3, "req_3"),
        (4, "req_4"),
    ]
    assert len({call.headers["idempotency-key"] for call in scripted.calls}) == 1
    assert [[place for place, line in enumerate(call.body.split(b"\n"), 1) if line] for call in scripted.calls] == [
        [1, 3, 4],
        [3, 4],
        [4],
    ]
