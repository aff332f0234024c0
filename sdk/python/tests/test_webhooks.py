"""Events as they come: signed, tampered with, old, and from a real service."""

from __future__ import annotations

import base64
import hmac
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import SETTINGS
from scripted import ScriptedServer, answer

import overnight
from overnight import webhooks

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
# The example of docs/webhooks.md.
HEADERS = {
    "webhook-id": "evt_01jz8m4c2he7vsn9q3r5x1b8kb",
    "webhook-timestamp": "1751500020",
    "webhook-signature": "v1,pJ0j4Zj1tGEOjuZO9aq9xdWtt2aZY4+PBBJ4SQ3ESPE=",
}
BODY = (
    '{"type":"batch.completed","timestamp":1751500020,"id":"evt_01jz8m4c2he7vsn9q3r5x1b8kb","created_at":1751500020,'
    '"data":{"id":"batch_01jz8m4c2he7vsn9q3r5x1b8ka","status":"completed","requests_counts":{"total":3,"completed":2,'
    '"failed":1,"in_progress":0,"registered":0,"cancelled":0},"created_at":1751500010,"in_progress_at":1751500012,'
    '"completed_at":1751500020,"cancelled_at":null}}'
)
NOW = 1751500020.0


def signed(event: Any) -> tuple[bytes, dict[str, str]]:
    body = json.dumps(event).encode()
    text = f"evt_1.{int(NOW)}.".encode() + body
    signature = base64.b64encode(hmac.digest(base64.b64decode(SECRET[6:]), text, "sha256")).decode()
    return body, {"Webhook-Id": "evt_1", "Webhook-Timestamp": str(int(NOW)), "Webhook-Signature": f"v1,{signature}"}


def test_the_documented_example_is_genuine() -> None:
    event = webhooks.verify(BODY, HEADERS, SECRET, now=NOW)
    assert (event.id, event.type, event.timestamp) == (HEADERS["webhook-id"], "batch.completed", 1751500020)
    assert isinstance(event.data, overnight.BatchStatus) and event.data.requests_counts.failed == 1


def test_what_is_tampered_with_is_refused() -> None:
    for headers, body in [
        (HEADERS, BODY + " "),
        ({**HEADERS, "webhook-id": "evt_2"}, BODY),
        ({**HEADERS, "webhook-timestamp": "1751500021"}, BODY),
        ({**HEADERS, "webhook-timestamp": "now"}, BODY),
        ({**HEADERS, "webhook-signature": "v1,AAAA v2,é"}, BODY),
        ({name: value for name, value in HEADERS.items() if name != "webhook-signature"}, BODY),
        ({}, BODY),
    ]:
        with pytest.raises(webhooks.VerificationError):
            webhooks.verify(body, headers, SECRET, now=NOW)
    with pytest.raises(webhooks.VerificationError):
        webhooks.verify(BODY, HEADERS, "whsec_" + base64.b64encode(b"another").decode(), now=NOW)


def test_old_signatures_are_refused() -> None:
    webhooks.verify(BODY, HEADERS, SECRET, now=NOW + 300)
    for now in [NOW + 301, NOW - 301]:
        with pytest.raises(webhooks.VerificationError, match="old"):
            webhooks.verify(BODY, HEADERS, SECRET, now=now)


def test_several_secrets_and_signatures_fit_while_one_is_changed() -> None:
    other = "whsec_" + base64.b64encode(b"another").decode()
    headers = {**HEADERS, "webhook-signature": "v1,AAAA " + HEADERS["webhook-signature"]}
    assert webhooks.verify(BODY, headers, [other, SECRET], now=NOW).type == "batch.completed"
    secrets: list[str | list[str]] = ["", "whsec_", "whsec_*", []]
    for secret in secrets:
        with pytest.raises(ValueError, match="secret"):
            webhooks.verify(BODY, HEADERS, secret, now=NOW)


def test_events_of_every_type_are_read() -> None:
    request = {"id": "req_1", "status": "failed", "created_at": 1, "expires_at": 2}
    credits = {"account": "acct_1", "threshold": "10", "balance": "9", "held": "0", "available": "9"}
    for kind, data, expected in [
        ("request.failed", request, overnight.RequestStatus),
        ("webhook.test", {"account": "acct_1"}, webhooks.Tested),
        ("account.low_credits", credits, webhooks.AccountCredits),
        ("batch.frozen", {"any": "thing"}, dict),
    ]:
        body, headers = signed({"type": kind, "timestamp": 1, "data": data})
        assert isinstance(webhooks.verify(body, headers, SECRET, now=NOW).data, expected)
    body, headers = signed(["no event"])
    with pytest.raises(overnight.UnreadableError):
        webhooks.verify(body, headers, SECRET, now=NOW)


def test_a_real_event_is_genuine(tmp_path: Path, scripted: ScriptedServer) -> None:
    scripted.answer(answer(204, b""))
    settings = SETTINGS + "[webhooks]\nallow_insecure_targets = true\n"
    service = overnight.local(tmp_path, settings=settings)
    with service as client:
        told = subprocess.run(
            [service.program, "webhook", "secret"],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"]},
            check=True,
            capture_output=True,
            text=True,
        )
        body = {"model": "waiting", "messages": [{"role": "user", "content": "hi"}]}
        request = client.create_request(body, webhook=scripted.url + "/hook")
        client.cancel_request(request.id)
        ends_at = time.monotonic() + 30
        while not scripted.calls and time.monotonic() < ends_at:
            time.sleep(0.02)
    (received,) = scripted.calls
    event = webhooks.verify(received.body, received.headers, told.stdout.strip())
    assert event.type == "request.cancelled" and isinstance(event.data, overnight.RequestStatus)
    assert event.data.id == request.id
