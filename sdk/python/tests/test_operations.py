"""Every operation against the real service."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import ANSWER, Connect

import overnight
from overnight import CreateRequest, Overnight


def chat(content: str = "What is the capital of France?", model: str = "overnight-tiny") -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": content}], "max_tokens": 16, "temperature": 0}


def test_a_request_is_created_read_and_deleted(client: Overnight) -> None:
    created = client.create_request(chat(), metadata={"n": 1}, webhook="https://example.com/hook")
    batch = client.create_batch([created.id], metadata={"batch_name": "one"})
    (ended,) = client.follow_batch_results(batch.id)
    assert ended.text is not None and ended.text.startswith(ANSWER) and ended.finish_reason in ("stop", "length")
    assert ended.usage is not None and ended.usage.completion_tokens > 0
    request = client.get_request(created.id)
    assert (request.metadata, request.webhook, request.batch_id) == ({"n": 1}, "https://example.com/hook", batch.id)
    assert request.request_body == chat() and request.status == "completed"
    assert client.get_request_status(created.id).ended_at == request.ended_at
    client.delete_request(created.id)
    with pytest.raises(overnight.NotFoundError):
        client.get_request(created.id)


def test_a_waiting_request_is_cancelled_once_and_not_deleted_before(client: Overnight) -> None:
    created = client.create_request(chat(model="waiting"))
    assert client.get_request_status(created.id).ended_at is None
    with pytest.raises(overnight.NotEndedError):
        client.delete_request(created.id)
    assert client.cancel_request(created.id).status == "cancelled"
    assert client.cancel_request(created.id).status == "cancelled"


def test_a_batch_is_read_cancelled_and_deleted(client: Overnight) -> None:
    ids = [client.create_request(chat(model="waiting")).id for _ in range(2)]
    created = client.create_batch(ids, metadata={"batch_name": "b"})
    assert created.requests_counts.total == 2
    batch = client.get_batch(created.id)
    assert batch.requests_ids == tuple(ids) and batch.metadata == {"batch_name": "b"}
    assert [request.id for request in client.get_batch_requests(created.id)] == ids
    assert client.get_batch_status(created.id).completed_at is None
    assert client.cancel_batch(created.id).status == "cancelled"
    results = list(client.get_batch_results(created.id))
    assert [request.status for request in results] == ["cancelled", "cancelled"]
    first = next(client.follow_batch_results(created.id))
    assert [request.id for request in client.get_batch_results(created.id, after=first.id)] != [first.id]
    client.delete_batch(created.id)
    with pytest.raises(overnight.NotFoundError):
        client.get_batch(created.id)


def test_a_batch_is_followed_while_its_requests_end(client: Overnight) -> None:
    ids = [client.create_request(chat(model=model)).id for model in ("overnight-tiny", "waiting")]
    batch = client.create_batch(ids)
    followed = client.follow_batch_results(batch.id)
    assert next(followed).id == ids[0]
    assert client.get_batch_status(batch.id).requests_counts.completed == 1
    client.cancel_request(ids[1])
    assert [request.status for request in followed] == ["cancelled"]
    with pytest.raises(overnight.AlreadyEndedError):
        client.cancel_batch(batch.id)


def test_lists_are_filtered_and_read_over_pages(client: Overnight, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("overnight._lists.PAGE", 2)
    ids = [client.create_request(chat(model="waiting")).id for _ in range(5)]
    newest = [request.id for request in client.list_requests(model="waiting", order="desc", limit=5)]
    assert newest == ids[::-1]
    after = list(client.list_full_requests(model="waiting", created_after=1, after=ids[0]))
    assert [request.id for request in after] == ids[1:]
    assert after[0].request_body == chat(model="waiting")
    batches = [client.create_batch([identifier]).id for identifier in ids[:3]]
    assert [batch.id for batch in client.list_batches(order="desc", limit=3)] == batches[::-1]
    listed = list(client.list_batches(requests_ids=False, order="desc", limit=1))
    assert [(batch.id, batch.requests_ids) for batch in listed] == [(batches[-1], ())]
    with pytest.raises(overnight.InvalidCallError):
        list(client.list_requests(limit=0))


def test_what_is_created_once_is_created_once(client: Overnight) -> None:
    once = client.once("invoice-17")
    first = once.create_request(chat(model="waiting"))
    assert once.create_request(chat(model="waiting")) == first
    with pytest.raises(overnight.IdempotencyKeyReusedError):
        once.create_request(chat("Another?", model="waiting"))
    assert once.create_batch([first.id]) == once.create_batch([first.id])
    with pytest.raises(overnight.InvalidCallError):
        client.once("a key")


def test_many_requests_are_created_in_order_and_bad_ones_told(client: Overnight) -> None:
    bodies = [CreateRequest(chat(model="waiting"), metadata={"n": n}) for n in range(5_000)]
    bad: dict[str, Any] = {"model": "unknown", "messages": []}
    mixed = [*bodies[:3], None, bad, *bodies[3:]]
    outcomes = list(client.once("bulk-1").create_requests(mixed))
    assert [outcome.line for outcome in outcomes] == [1, 2, 3, *range(5, 5_003)]
    (refused,) = [outcome for outcome in outcomes if outcome.error is not None]
    assert refused.line == 5 and isinstance(refused.error, overnight.InvalidInputError)
    ids = [outcome.created.id for outcome in outcomes if outcome.created is not None]
    assert len(set(ids)) == 5_000
    again = client.once("bulk-1").create_requests([*[None] * 4_500, *mixed[4_500:]])
    assert [outcome.created and outcome.created.id for outcome in again] == ids[4_498:]
    assert client.get_request(ids[1]).metadata == {"n": 1}
    (other,) = client.create_requests([chat(model="waiting")])
    assert other.created is not None and other.created.id not in ids


def test_models_and_the_account_are_read(client: Overnight) -> None:
    models = {model.id: model for model in client.list_models()}
    assert (models["overnight-tiny"].input_price, models["waiting"].input_price) == ("0.10", None)
    account = client.get_account()
    assert account.name == "default" and account.payments_activated
    assert account.quotas is not None and account.quotas.live_requests.limit


def test_usage_is_read_page_by_page(client: Overnight, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = client.create_batch([client.create_request(chat()).id])
    (_,) = client.follow_batch_results(batch.id)
    (own,) = [record for record in client.list_usage(group_by="api_key") if record.api_key_id is not None]
    assert own.requests > 0 and own.completion_tokens > 0 and (own.day, own.model) == (None, None)
    assert [record.model for record in client.list_usage(group_by="model")] == ["overnight-tiny"]
    monkeypatch.setattr("overnight._lists.PAGE", 1)
    records = list(client.list_usage(group_by="day,model,api_key"))
    assert own.requests == sum(record.requests for record in records if record.api_key_id == own.api_key_id)
    with pytest.raises(overnight.InvalidInputError):
        list(client.list_usage(first_day="yesterday"))


def test_faults_of_a_call_are_typed(client: Overnight, service: overnight.LocalService, connect: Connect) -> None:
    with pytest.raises(overnight.InvalidInputError) as invalid:
        client.create_request({"model": "overnight-tiny", "messages": []})
    assert invalid.value.details[0].param == "request_body.messages"
    assert invalid.value.request_id.startswith("call_")
    with pytest.raises(overnight.AuthenticationError):
        connect(service.url, "on_live_wrong").get_account()
    with pytest.raises(overnight.InvalidCallError):
        client.get_request("..")
    with pytest.raises(overnight.InvalidCallError):
        client.create_request({"model": float("nan")})
