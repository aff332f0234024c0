"""What a webhook of yours receives: its signature checked (Standard Webhooks), and read.

    try:
        event = webhooks.verify(body, headers, secret)     # the bytes as they came
    except webhooks.VerificationError:
        ...                                                # answer 401
    if event.type == "batch.completed":
        ...

An event may come again: remember `event.id` with what is done about it.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from overnight._reading import read
from overnight.errors import OvernightError, UnreadableError
from overnight.records import BatchStatus, Json, RequestStatus

ID_HEADER = "webhook-id"
TIMESTAMP_HEADER = "webhook-timestamp"
SIGNATURE_HEADER = "webhook-signature"
TOLERANCE_S = 300
"""How far the time of a signature may be from now."""


class VerificationError(OvernightError):
    """It cannot be told that the service sent it. Answer 401."""


@dataclass(frozen=True)
class Tested:
    """Whose receiver is tested."""

    account: str


@dataclass(frozen=True)
class AccountCredits:
    """The credits of an account when less than `threshold` was available. Amounts are decimal numbers of credits."""

    account: str
    threshold: str
    balance: str
    held: str
    available: str


@dataclass(frozen=True)
class Event:
    """The end of a request or of a batch, low credits of an account, or a test of a receiver."""

    id: str
    """The same whenever the event comes again."""
    type: str
    """`request.completed`, `request.failed`, `request.cancelled`, `batch.completed`, `batch.cancelled`,
    `account.low_credits` or `webhook.test`; or one of a later release: answer 2xx and pass over it."""
    timestamp: int
    """When it happened, in Unix seconds."""
    data: RequestStatus | BatchStatus | AccountCredits | Tested | Json
    """The status record at that time; the JSON of a type that this release does not know."""


def verify(
    payload: bytes | str,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    tolerance_s: float = TOLERANCE_S,
    now: float | None = None,
) -> Event:
    """The event in `payload`, the body byte for byte as it came, if it is signed with `secret` (`whsec_…`), or with one
    of several: while a secret is changed, the old one and the new one.

    Raises `VerificationError` where it is not, or was signed more than `tolerance_s` before or after `now`, so nobody
    can send later what was overheard once; `UnreadableError` where it is signed and no event."""
    body = payload.encode() if isinstance(payload, str) else bytes(payload)
    names = {name.lower(): value for name, value in headers.items()}
    event_id = _header(names, ID_HEADER)
    timestamp = _header(names, TIMESTAMP_HEADER)
    signatures = _header(names, SIGNATURE_HEADER)
    _check_time(timestamp, time.time() if now is None else now, tolerance_s)
    text = f"{event_id}.{timestamp}.".encode() + body
    expected = [b"v1," + base64.b64encode(hmac.digest(key, text, "sha256")) for key in _keys(secret)]
    given = [signature.encode() for signature in signatures.split(" ")]
    # All are compared, so that the time says nothing of which one fits.
    if not sum(hmac.compare_digest(one, other) for one in expected for other in given):
        raise VerificationError("no signature fits the body and a secret")
    return _read(body, event_id)


def _header(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name, "")
    if not value:
        raise VerificationError(f"the header {name} is missing")
    return value


def _check_time(timestamp: str, now: float, tolerance_s: float) -> None:
    if not timestamp.isascii() or not timestamp.isdecimal() or len(timestamp) > 15:
        raise VerificationError(f"the header {TIMESTAMP_HEADER} is no time")
    if abs(now - int(timestamp)) > tolerance_s:
        raise VerificationError("the signature is too old, or of the future")


def _keys(secret: str | Sequence[str]) -> list[bytes]:
    secrets = [secret] if isinstance(secret, str) else list(secret)
    try:
        keys = [base64.b64decode(one.removeprefix("whsec_"), validate=True) for one in secrets]
    except (binascii.Error, ValueError) as error:
        raise ValueError("a webhook secret is whsec_ and base64") from error
    if not keys or not all(keys):
        raise ValueError("a webhook secret is needed")
    return keys


def _read(body: bytes, event_id: str) -> Event:
    try:
        members = json.loads(body)
        kind, timestamp, data = str(members["type"]), int(members["timestamp"]), members["data"]
    except (ValueError, LookupError, TypeError) as error:
        raise UnreadableError(f"the event cannot be read: {error}") from error
    return Event(event_id, kind, timestamp, _data(kind, data))


def _data(kind: str, data: Any) -> RequestStatus | BatchStatus | AccountCredits | Tested | Json:
    noun, _, what = kind.partition(".")
    if noun == "request" and what in ("completed", "failed", "cancelled"):
        return read(RequestStatus, data)
    if noun == "batch" and what in ("completed", "cancelled"):
        return read(BatchStatus, data)
    if kind == "account.low_credits":
        return read(AccountCredits, data)
    if kind == "webhook.test":
        return read(Tested, data)
    return cast("Json", data)
